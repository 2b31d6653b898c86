import { meters as allMeters } from '../../../money/usage.ts'
import type { Meter, Meters } from '../../../money/usage.ts'
import { units } from '../../../web/format.ts'
import type { OwnPage } from '../../page.ts'

const tokensIn: ReadonlySet<Meter> = new Set([
  'input',
  'cachedInput',
  'cacheWrite5m',
  'cacheWrite1h',
  'audioInput',
  'cachedAudioInput',
  'imageInput',
])
const tokensOut: ReadonlySet<Meter> = new Set(['output', 'audioOutput', 'imageOutput'])

/** What was used, in short: tokens in and out, and whatever else there was. */
export function usageSummary(
  { texts, language }: Pick<OwnPage, 'texts' | 'language'>,
  usage: Meters,
): string {
  const { charges, meters } = texts
  let sumIn = 0
  let sumOut = 0
  const others: string[] = []
  for (const meter of allMeters) {
    const count = usage[meter]
    if (count === undefined || count === 0) continue
    if (tokensIn.has(meter)) sumIn += count
    else if (tokensOut.has(meter)) sumOut += count
    else others.push(`${meters[meter]}: ${units(count, language)}`)
  }
  const parts = [
    ...(sumIn === 0 ? [] : [`${charges.tokensIn}\u00a0${units(sumIn, language)}`]),
    ...(sumOut === 0 ? [] : [`${charges.tokensOut}\u00a0${units(sumOut, language)}`]),
    ...others,
  ]
  return parts.length === 0 ? '—' : parts.join(' · ')
}

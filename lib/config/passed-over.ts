import { isMapping } from './layers.ts'
import type { ConfigKey } from './schema.ts'

/** What of a config is not read, by what it is read for: its secrets need not be set. */
const sections = {
  /** Who sells, how money comes in, which pages there are. */
  house: ['providers', 'models', 'defaultProvider', 'egress', 'alarms', 'plugins'],
  /** What models cost. */
  prices: ['egress', 'alarms', 'plugins', 'accountArea', 'operatorArea', 'payments', 'seller'],
} as const satisfies Record<string, readonly ConfigKey[]>

/** What a config is read for, where that is not to serve. */
export type ConfigUse = keyof typeof sections

/** Nobody is written to. */
const noMail = { url: 'smtp://localhost', from: 'nobody@localhost' }

type Mapping = Readonly<Record<string, unknown>>

/** A merged config without what a use of it does not read, and without what refers to that. */
export function withoutPassedOver(merged: Mapping, use: ConfigUse): Mapping {
  const left: Record<string, unknown> = { ...merged }
  for (const key of sections[use]) delete left[key]
  const { accountArea, providers, prices } = left
  if (isMapping(accountArea) && isMapping(accountArea['mail'])) {
    left['accountArea'] = { ...accountArea, mail: noMail }
  }
  if (isMapping(providers)) {
    left['providers'] = Object.fromEntries(
      Object.entries(providers).map(([name, provider]) => [name, withoutEgress(provider)]),
    )
  }
  if (isMapping(prices)) left['prices'] = { ...prices, usdRub: withoutEgress(prices['usdRub']) }
  return left
}

function withoutEgress(value: unknown): unknown {
  if (!isMapping(value)) return value
  const { egress: _, ...rest } = value
  return rest
}

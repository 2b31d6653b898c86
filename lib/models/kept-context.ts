import type { Ledger, ProviderObject } from '../ledger/ledger.ts'
import { addMeters, readAgain, type Meters, type ObjectKind } from '../money/usage.ts'
import { inGroups } from './in-groups.ts'

/** What of an exchange's usage a request reads again that names what came of it. */
const partsRead: { readonly [K in ObjectKind]?: (used: Meters) => Meters } = {
  response: readAgain,
  interaction: readAgain,
  item: onlySaid,
  audio: onlySaid,
  cachedContent: ({ input = 0 }) => ({ cachedInput: input }),
}

/**
 * What the provider keeps of a conversation and bills as input of whatever goes on from it, though the request
 * is a few bytes long: as much as it came to when it was charged. What nobody knows is nothing here.
 */
export async function keptContext(
  ledger: Pick<Ledger, 'findUsage'>,
  objects: readonly ProviderObject[],
): Promise<Meters> {
  let context: Meters = {}
  /** Each counts once, however many of its items are named. */
  const exchanges = new Map<string, (used: Meters) => Meters>()
  for (const { kind, exchangeId, facts } of objects) {
    const read = partsRead[kind]
    if (facts?.context !== undefined) context = addMeters(context, facts.context)
    else if (read !== undefined && exchanges.get(exchangeId) !== readAgain) exchanges.set(exchangeId, read)
  }
  const used = await inGroups([...exchanges], async ([exchangeId, read]) =>
    read(await ledger.findUsage(exchangeId)),
  )
  return used.reduce(addMeters, context)
}

function onlySaid({ output = 0, audioOutput = 0, imageOutput = 0 }: Meters): Meters {
  return readAgain({ output, audioOutput, imageOutput })
}

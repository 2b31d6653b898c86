import type { Ledger, ProviderObject } from '../ledger/ledger.ts'
import { addMeters, contextKinds, objectName, readAgain, type Meters } from '../money/usage.ts'
import { inGroups } from './in-groups.ts'

type ReadsAgain = (used: Meters) => Meters

/** What of an exchange's usage a request reads again that names what came of it. */
const partsRead: Readonly<Record<(typeof contextKinds)[number], ReadsAgain>> = {
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
  const exchanges = new Map<string, ReadsAgain>()
  for (const { kind, exchangeId, facts } of objects) {
    const known = contextKinds.find(one => one === kind)
    if (facts?.context !== undefined) context = addMeters(context, facts.context)
    else if (known !== undefined && exchanges.get(exchangeId) !== readAgain)
      exchanges.set(exchangeId, partsRead[known])
  }
  const used = await inGroups([...exchanges], async ([exchangeId, read]) =>
    read(await ledger.findUsage(exchangeId)),
  )
  return used.reduce(addMeters, context)
}

/** The same of each alone, by its name. */
export async function keptContexts(
  ledger: Pick<Ledger, 'findUsage'>,
  objects: readonly ProviderObject[],
): Promise<ReadonlyMap<string, Meters>> {
  const contexts = await inGroups(
    objects,
    async object => [objectName(object), await keptContext(ledger, [object])] as const,
  )
  return new Map(contexts)
}

function onlySaid({ output = 0, audioOutput = 0, imageOutput = 0 }: Meters): Meters {
  return readAgain({ output, audioOutput, imageOutput })
}

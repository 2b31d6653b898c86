import type { Ledger, ProviderObject } from '../ledger/ledger.ts'
import {
  addMeters,
  contextKinds,
  objectName,
  readAgain,
  tokensOf,
  type Meters,
  type NamedObject,
  type ObjectKind,
} from '../money/usage.ts'
import { inGroups } from './object-owner.ts'

type ReadsAgain = (used: Meters) => Meters

/** The part of an exchange's usage that a request reads again if it names the resulting object. */
const partsRead: Readonly<Record<(typeof contextKinds)[number], ReadsAgain>> = {
  response: readAgain,
  interaction: readAgain,
  thread: readAgain,
  item: onlySaid,
  audio: onlySaid,
  cachedContent: ({ input = 0 }) => ({ cachedInput: input }),
}

/** The part of an exchange's usage that continues in a named object of a kind; undefined if none does. */
export function contextOfKind(kind: ObjectKind, used: Meters): Meters | undefined {
  const known = contextKinds.find(one => one === kind)
  return known === undefined ? undefined : partsRead[known](used)
}

/**
 * Whether a request continues from an unrecorded object: without isolation it may, and may read as much as the model
 * can. An item is sent back with its content.
 */
export function isContextUnknown({ kind, id }: NamedObject, known: readonly ProviderObject[]): boolean {
  if (kind === 'item' || contextOfKind(kind, {}) === undefined) return false
  return !known.some(object => object.kind === kind && object.id === id)
}

/**
 * The stored context at the provider, which it bills as input of a request that continues from it, although the request
 * is only a few bytes long: the charged usage, or else the usage known when the object was named. Unknown context
 * counts as nothing here.
 */
export async function keptContext(
  ledger: Pick<Ledger, 'findUsage'>,
  objects: readonly ProviderObject[],
): Promise<Meters> {
  let context: Meters = {}
  /** Each exchange counts once, however many of its items are named, and in full if it is named itself. */
  const exchanges = new Map<string, ProviderObject>()
  for (const object of objects) {
    const { kind, exchangeId, facts } = object
    if (contextOfKind(kind, {}) === undefined) context = addMeters(context, facts?.context)
    else if (!isWhole(exchanges.get(exchangeId))) exchanges.set(exchangeId, object)
  }
  const found = await inGroups([...exchanges.values()], async ({ kind, exchangeId, facts }) => {
    const used = await ledger.findUsage(exchangeId)
    return (tokensOf(used) > 0 ? contextOfKind(kind, used) : facts?.context) ?? {}
  })
  return found.reduce(addMeters, context)
}

function isWhole(object: ProviderObject | undefined): boolean {
  return object?.kind === 'response' || object?.kind === 'interaction' || object?.kind === 'thread'
}

/** The stored context of each object separately, by its name. */
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

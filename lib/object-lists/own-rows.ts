import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { DialectName } from '../dialects/dialect.ts'
import type { ObjectList, PageRequest } from '../dialects/object-list.ts'
import type { ListedObject, ObjectLedger, ObjectQuery, ProviderObject } from '../ledger/ledger.ts'
import { withCredential, type ChosenProvider } from '../models/choose-provider.ts'
import { knownProvider } from '../providers/known-providers.ts'

/** An object that is in a list, if its provider still has it. */
export interface OwnRow {
  readonly object: ListedObject
  readonly chosen: ChosenProvider
}

interface Wanted {
  /** Undefined in a gateway without keys, where objects have no owner. */
  readonly accountId: string | undefined
  readonly list: ObjectList
  readonly page: PageRequest
  readonly cursor: ProviderObject | undefined
  readonly dialectName: DialectName
  readonly providerName: string | undefined
}

interface RowsContext {
  readonly config: Config
  readonly ledger: ObjectLedger
  readonly clock: Clock
}

const rowsAtOnce = 200

/** The account's objects in the order of the page and of those after it. */
export async function* ownRows(context: RowsContext, wanted: Wanted): AsyncGenerator<OwnRow> {
  const { accountId, page, list, cursor } = wanted
  if (accountId === undefined) return
  const isBackwards = page.cursor?.side === 'before'
  const isNewestFirst = (page.order === 'newest-first') !== isBackwards
  const query: ObjectQuery = {
    accountId,
    kind: list.kind,
    order: isNewestFirst ? 'newest-first' : 'oldest-first',
    limit: rowsAtOnce,
  }
  let after: ObjectQuery['after'] = cursor
  for (;;) {
    const objects = await context.ledger.listObjects({ ...query, ...(after !== undefined && { after }) })
    for (const object of objects) {
      const row = rowOf(context, wanted, object)
      if (row !== undefined) yield row
    }
    after = objects.at(-1)
    if (objects.length < rowsAtOnce) return
  }
}

/** Undefined for an object that is in other lists, or that no provider can show any more. */
function rowOf({ config, clock }: RowsContext, wanted: Wanted, object: ListedObject): OwnRow | undefined {
  const { list, page, dialectName, providerName } = wanted
  if (providerName !== undefined && object.provider !== providerName) return undefined
  if (page.ids?.includes(object.id) === false) return undefined
  if (clock.now() - object.createdAt > (list.keptMsMax ?? Infinity)) return undefined
  const provider = config.providers.get(object.provider)
  if ((object.dialect ?? usualDialect(provider?.kind)) !== dialectName) return undefined
  const chosen = withCredential(provider, dialectName, object.credential)
  return chosen && { object, chosen }
}

/** The format of objects of which earlier releases did not record it. */
function usualDialect(providerKind = ''): DialectName {
  return knownProvider(providerKind).ownDialect ?? 'openai'
}

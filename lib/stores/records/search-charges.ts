import type { RecordReader } from './records.ts'

/** A charge as operators meet it in a list of all. */
export interface ListedCharge {
  readonly requestId: string
  readonly sequence: number
  readonly at: number
  readonly accountId: string
  readonly keyId: string
  readonly provider: string
  readonly model: string
  readonly outcome: string
  readonly amountMicros: number
}

interface ChargeQuery {
  /** Empty: of any. */
  readonly requestId: string
  readonly accountId: string
  readonly model: string
  readonly outcome: string
  readonly limit: number
  readonly offset: number
}

/** Charges that are looked through for a model or an outcome, the latest of the account or of all. */
const lookedMax = 5000

/**
 * Charges of all accounts, the newest first. What is sought by model or outcome is sought among the latest, so that no
 * question takes longer the more charges there are.
 */
export function searchCharges(
  reader: RecordReader,
  { requestId, accountId, model, outcome, limit, offset }: ChargeQuery,
): Promise<readonly ListedCharge[]> {
  let latest = reader.build
    .selectFrom('charges')
    .select([
      'id',
      'exchange_id as requestId',
      'sequence',
      'at',
      'account_id as accountId',
      'key_id as keyId',
      'provider',
      'model',
      'outcome',
      'amount_micros as amountMicros',
    ])
    .where('revision', '=', 0)
    .orderBy('id', 'desc')
    .limit(model === '' && outcome === '' ? limit + offset : lookedMax)
  if (requestId !== '') latest = latest.where('exchange_id', '=', requestId)
  if (accountId !== '') latest = latest.where('account_id', '=', accountId)
  let query = reader.build
    .selectFrom(latest.as('latest'))
    .selectAll()
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(offset)
  if (model !== '') query = query.where('model', '=', model)
  if (outcome !== '') query = query.where('outcome', '=', outcome)
  return reader.all(query)
}

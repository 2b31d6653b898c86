import type { RecordReader } from './records.ts'

/** What was set aside for a request, or a turn of a session. */
export interface FoundHold {
  readonly sequence: number
  readonly accountId: string
  readonly email: string | null
  readonly keyId: string
  readonly state: string
  readonly amountMicros: number
  readonly createdAt: number
}

/** The holds of one request; none where it was refused before, or cost nothing. */
export function findRequest(records: RecordReader, exchangeId: string): Promise<readonly FoundHold[]> {
  return records.all(
    records.build
      .selectFrom('holds')
      .leftJoin('accounts', 'accounts.id', 'holds.account_id')
      .select([
        'holds.sequence',
        'holds.account_id as accountId',
        'accounts.email',
        'holds.key_id as keyId',
        'holds.state',
        'holds.amount_micros as amountMicros',
        'holds.created_at as createdAt',
      ])
      .where('holds.exchange_id', '=', exchangeId)
      .orderBy('holds.sequence'),
  )
}

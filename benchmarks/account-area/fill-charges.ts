import { openForWriting } from '../../lib/stores/sqlite/sqlite-database.ts'
import { connectPostgres } from '../../lib/stores/postgres/postgres-connection.ts'
import type { Config } from '../../lib/config/config.ts'

const chunkRows = 50_000
const days = 180

interface Filling {
  readonly accountId: string
  /** The first makes nearly all charges, the last very few. */
  readonly keyIds: readonly [common: string, other: string, rare: string]
  readonly priceVersion: string
  readonly rows: number
  readonly now: number
}

/** SQL for a number as text with leading zeros; the two stores write it differently. */
type Padded = (number: string, length: number) => string

/**
 * SQL that both stores accept, for a chunk of charges: 180 days, 25 models, one charge in 100,000 by the rare key, one
 * in 50,000 refused, one in 40 left by its client.
 */
function chunk(filling: Filling, from: number, padded: Padded): string {
  const { accountId, keyIds, priceVersion, rows, now } = filling
  const [common, other, rare] = keyIds
  const stepMs = Math.floor((days * 86_400_000) / rows)
  const begin = now - rows * stepMs
  return `INSERT INTO charges (exchange_id, sequence, account_id, key_id, at, provider, model, dialect, operation,
      outcome, usage_source, lines, raw_usage, details, flags, amount_micros, overrun_micros)
    WITH RECURSIVE numbers (n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM numbers WHERE n < ${from + chunkRows - 1})
    SELECT ${padded('n', 26)}, 0, '${accountId}',
      CASE WHEN n % 100000 = 77 THEN '${rare}' WHEN n % 5 = 0 THEN '${other}' ELSE '${common}' END,
      ${begin} + CAST(n AS BIGINT) * ${stepMs}, 'sandbox',
      CASE WHEN n % 100000 = 99 THEN 'rare-model' ELSE 'model-' || (n % 25) END, 'openai', 'chat',
      CASE WHEN n % 50000 = 5 THEN 'refused' WHEN n % 40 = 1 THEN 'aborted' ELSE 'completed' END, 'provider',
      '[{"model":"model-' || (n % 25) || '","meters":{"input":' || (n % 9000) || ',"cachedInput":300,"output":450},"priceVersion":"${priceVersion}","amountMicros":' || (1000 + n % 90000) || '}]',
      '{"prompt_tokens":1500,"completion_tokens":450,"total_tokens":1950}', NULL, '[]', 1000 + n % 90000, 0
    FROM numbers`
}

const sums = `INSERT INTO charge_sums
    (account_id, day, model, key_id, outcome, charges, spent_micros, first_id, last_id)
  SELECT account_id, (at + 10800000) / 86400000, model, key_id, outcome, count(*), sum(amount_micros), min(id), max(id)
  FROM charges GROUP BY 1, 2, 3, 4, 5`

const keySums = `INSERT INTO key_spending (key_id, day, spent_micros, last_at)
  SELECT key_id, (at + 10800000) / 86400000, sum(amount_micros), max(at) FROM charges GROUP BY 1, 2`

/** Inserts charges directly into the tables of a store that no other process has open. */
export async function fillCharges(store: Config['store'], filling: Filling): Promise<void> {
  const { rows } = filling
  if (store.kind === 'sqlite') {
    const database = openForWriting(store.file)
    const padded: Padded = (number, length) => `substr('${'0'.repeat(length)}' || ${number}, -${length})`
    for (let from = 0; from < rows; from += chunkRows) database.exec(chunk(filling, from, padded))
    database.exec(sums)
    database.exec(keySums)
    database.close()
    return
  }
  const client = await connectPostgres(store.url, error => {
    throw error
  })
  const padded: Padded = (number, length) => `lpad(${number}::text, ${length}, '0')`
  const run = async (text: string): Promise<void> => {
    await client.query({ text, query_timeout: 600_000 } as { text: string })
  }
  await run('SET statement_timeout = 0')
  for (let from = 0; from < rows; from += chunkRows) await run(chunk(filling, from, padded))
  await run(sums)
  await run(keySums)
  await run('ANALYZE')
  await client.end()
}

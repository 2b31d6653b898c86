import type { ChargeLine } from '../ledger/price-charge.ts'
import type { Price } from '../money/price.ts'
import { priceLine } from '../money/price-line.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

/** At most so many breaches of one kind are told one by one. */
const examplesMax = 20

/** Each finds the rows that break one invariant; its first column says which. */
const invariants: readonly (readonly [sentence: string, query: string])[] = [
  [
    'the entries of one transaction do not add up to zero',
    `SELECT exchange_id || '/' || sequence FROM entries
     GROUP BY exchange_id, sequence, revision HAVING sum(amount_micros) <> 0`,
  ],
  [
    'the balance of an account is not the sum of its entries',
    `SELECT id FROM accounts WHERE balance_micros <>
       coalesce((SELECT total FROM (SELECT account_id, sum(amount_micros) AS total FROM entries GROUP BY account_id)
                 WHERE account_id = accounts.id), 0)`,
  ],
  [
    'the balance of an account is negative',
    `SELECT id FROM accounts WHERE kind = 'customer' AND balance_micros < 0`,
  ],
  [
    'the open holds of an account are more than its balance',
    `SELECT id FROM accounts JOIN holds ON account_id = id AND state = 'open'
     GROUP BY id HAVING sum(amount_micros) > balance_micros`,
  ],
  [
    'a hold is charged, but has no charge',
    `SELECT exchange_id || '/' || sequence FROM holds WHERE state = 'charged' AND NOT EXISTS
       (SELECT 1 FROM charges WHERE exchange_id = holds.exchange_id AND sequence = holds.sequence AND revision = 0)`,
  ],
  [
    'a charge has no hold of the same account that was charged',
    `SELECT exchange_id || '/' || sequence FROM charges WHERE NOT EXISTS
       (SELECT 1 FROM holds WHERE exchange_id = charges.exchange_id AND sequence = charges.sequence
          AND account_id = charges.account_id AND state = 'charged')`,
  ],
  [
    'an exchange has two charges',
    `SELECT exchange_id || '/' || sequence FROM charges
     GROUP BY exchange_id, sequence, revision HAVING count(*) > 1`,
  ],
  [
    'a charge and its entries differ',
    `SELECT exchange_id || '/' || sequence FROM charges WHERE revision = 0 AND (
       amount_micros <> -coalesce((SELECT amount_micros FROM entries WHERE kind = 'charge' AND revision = 0
         AND exchange_id = charges.exchange_id AND sequence = charges.sequence), 0)
       OR overrun_micros <> -coalesce((SELECT amount_micros FROM entries WHERE kind = 'overrun' AND revision = 0
         AND exchange_id = charges.exchange_id AND sequence = charges.sequence), 0))`,
  ],
  [
    'an entry of a charge has no charge',
    `SELECT exchange_id || '/' || sequence FROM entries WHERE kind IN ('charge', 'overrun', 'revenue')
       AND NOT EXISTS (SELECT 1 FROM charges WHERE exchange_id = entries.exchange_id
         AND sequence = entries.sequence AND revision = entries.revision)`,
  ],
  [
    'a charge beyond the money there was is not flagged',
    `SELECT exchange_id || '/' || sequence FROM charges
     WHERE (overrun_micros > 0) <> EXISTS (SELECT 1 FROM json_each(flags) WHERE value = 'overrun')`,
  ],
  [
    'what a key has spent is not the sum of its charges',
    `SELECT key_id FROM (SELECT key_id, sum(spent_micros) AS spent FROM key_spending GROUP BY key_id) AS spending
     WHERE spent <> coalesce((SELECT total FROM (SELECT key_id, sum(amount_micros) AS total FROM charges GROUP BY key_id) AS paid
                              WHERE paid.key_id = spending.key_id), 0)`,
  ],
]

function breachesOf(database: SqliteDatabase, sentence: string, query: string): string[] {
  const breaches: string[] = []
  for (const name of database.prepare(query).pluck().iterate()) {
    if (breaches.length === examplesMax) {
      breaches.push(`${sentence}: and more of them`)
      break
    }
    breaches.push(`${sentence}: ${String(name)}`)
  }
  return breaches
}

/** Works every charge out again from its meters and the price that it names. */
function recomputed(database: SqliteDatabase): string[] {
  const prices = new Map<string, Price>()
  for (const { hash, body } of database
    .prepare<[], { hash: string; body: string }>('SELECT hash, body FROM prices')
    .iterate()) {
    prices.set(hash, { hash, ...JSON.parse(body) })
  }
  const charges = database.prepare<[], { name: string; lines: string; costMicros: number }>(
    `SELECT exchange_id || '/' || sequence AS name, lines, amount_micros + overrun_micros AS costMicros
     FROM charges WHERE revision = 0 ORDER BY id`,
  )
  const breaches: string[] = []
  for (const { name, lines, costMicros } of charges.iterate()) {
    if (breaches.length === examplesMax) return [...breaches, 'and more charges that are not what they cost']
    const parsed: readonly ChargeLine[] = JSON.parse(lines)
    let sumMicros = 0
    for (const line of parsed) {
      sumMicros += line.amountMicros
      const price = prices.get(line.priceVersion)
      if (price === undefined) breaches.push(`a charge names a price that is not known: ${name}`)
      else if (priceLine(price, line).amountMicros !== line.amountMicros) {
        breaches.push(`a charge is not what its usage costs by its price: ${name}`)
      }
    }
    if (sumMicros !== costMicros) breaches.push(`the lines of a charge do not add up to it: ${name}`)
  }
  return breaches
}

function pragmaBreaches(database: SqliteDatabase): string[] {
  const breaches: string[] = []
  for (const finding of database.prepare('PRAGMA integrity_check').pluck().all()) {
    if (finding !== 'ok') breaches.push(`the file is damaged: ${String(finding)}`)
  }
  const orphans = database.prepare('PRAGMA foreign_key_check').all().length
  if (orphans > 0) breaches.push(`${orphans} rows refer to rows that do not exist`)
  return breaches
}

/**
 * Checks every invariant of the ledger on one consistent view of the store.
 * @returns the breaches as sentences; empty when all is well
 */
export function verifyLedger(database: SqliteDatabase): readonly string[] {
  // One transaction sees one state, however long it takes and whatever is written meanwhile.
  return database.transaction(() => [
    ...pragmaBreaches(database),
    ...invariants.flatMap(([sentence, query]) => breachesOf(database, sentence, query)),
    ...recomputed(database),
  ])()
}

import { setImmediate } from 'node:timers/promises'
import type { KeyRecord } from '../../../accounts/accounts.ts'
import { byteOrderMark, csvHeaders, csvRow } from '../../../documents/csv-table.ts'
import { shownProvider, type Config } from '../../../config/config.ts'
import type { ChargeRecord } from '../../../ledger/reports.ts'
import { formatRoubles } from '../../../money/amount.ts'
import { meters } from '../../../money/usage.ts'
import { isoDay, isoTime } from '../../../web/format.ts'
import type { PageResponse, OwnPage } from '../../page.ts'
import { showCharges, readFilter } from './charges.ts'

function headRow({ texts }: OwnPage): string {
  const { chargesTable: head, meters: names } = texts
  return csvRow([
    head.time,
    head.requestId,
    head.sequence,
    head.keyId,
    head.keyName,
    head.model,
    head.provider,
    head.dialect,
    head.operation,
    head.outcome,
    head.usageSource,
    ...meters.map(meter => names[meter]),
    head.amount,
    head.overrun,
    head.returned,
    head.tiers,
    head.flags,
  ])
}

function row(config: Config, charge: ChargeRecord, keyNames: ReadonlyMap<string, string>): string {
  const { keyId, usage, lines } = charge
  const tiers = new Set(lines.flatMap(({ tier }) => (tier === undefined ? [] : [tier])))
  const { amountMicros, overrunMicros, returnedMicros } = charge
  return csvRow([
    isoTime(charge.at),
    charge.requestId,
    String(charge.sequence),
    keyId,
    keyNames.get(keyId) ?? '',
    charge.model,
    shownProvider(config, charge.provider) ?? '',
    charge.dialect,
    charge.operation,
    charge.outcome,
    charge.usageSource,
    ...meters.map(meter => ({ number: String(usage[meter] ?? '') })),
    ...[amountMicros, overrunMicros, returnedMicros].map(micros => ({ number: formatRoubles(micros) })),
    [...tiers].join(' '),
    charge.flags.join(' '),
  ])
}

/**
 * A table that is generated while it is read, a few hundred rows at a time, so that a million rows need little
 * memory.
 */
function table(
  config: Config,
  head: string,
  batches: AsyncIterable<readonly ChargeRecord[]>,
  keys: readonly KeyRecord[],
): ReadableStream<Uint8Array> {
  const keyNames = new Map(keys.map(({ id, name }) => [id, name]))
  const encoder = new TextEncoder()
  const iterator = batches[Symbol.asyncIterator]()
  let hasBegun = false
  return new ReadableStream(
    {
      async pull(controller) {
        // Yields between the queries, which run on this thread for SQLite.
        await setImmediate()
        if (!hasBegun) {
          hasBegun = true
          controller.enqueue(encoder.encode(head))
          return
        }
        for (;;) {
          const { done, value } = await iterator.next()
          if (done === true) return controller.close()
          if (value.length === 0) {
            await setImmediate()
            continue
          }
          return controller.enqueue(
            encoder.encode(value.map(charge => row(config, charge, keyNames)).join('')),
          )
        }
      },
      async cancel() {
        await iterator.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

/** The filtered charges as a CSV table; with an invalid filter, the page that shows the error. */
export async function downloadCharges(page: OwnPage): Promise<PageResponse> {
  const { site, account, texts } = page
  const keys = await site.reports.keys(account.accountId)
  const { search } = readFilter(page, keys)
  if (search === undefined) return showCharges(page)
  const head = byteOrderMark + headRow(page)
  const batches = site.reports.exportCharges(account.accountId, search)
  const headers = csvHeaders(texts.chargesTable.fileName, isoDay(site.clock.now()))
  return page.context.body(table(site.config, head, batches, keys), 200, headers)
}

import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../platform/clock.ts'
import type { Seller } from '../companies/seller.ts'
import type { Log } from '../platform/log.ts'
import type { Records } from '../stores/records/records.ts'
import { closeMonth } from './month-close.ts'
import { moscowDay, shiftMonth } from '../ledger/moscow-days.ts'
import { remindInvoices } from './remind-invoices.ts'

interface DocumentsOptions {
  readonly records: Records
  /** As the configuration has it now; undefined: nothing is sold to companies. */
  readonly seller: () => Seller | undefined
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'error'>
  readonly everyMs?: number
}

/** What a server does about documents by itself. */
export interface OpenDocuments {
  close(): Promise<void>
}

const everyMsDefault = 60_000
const retryMs = 10 * 60_000
const closeMs = 5000
/** What was charged in the last moments of a month may still be on its way to the store. */
const graceMs = 10 * 60_000

/** The last month that is over, in Moscow, for so long that all its charges are stored. */
export function monthToClose(now: number): string {
  return shiftMonth(moscowDay(now - graceMs).slice(0, 7), -1)
}

/**
 * Closes each month when it is over, and reminds of invoices. Every node does: whichever writes first has written, the
 * others find it done.
 */
export function openDocuments(options: DocumentsOptions): OpenDocuments {
  const { clock, log, everyMs = everyMsDefault } = options
  const done = { closed: '', reminded: '' }
  let retryAt = 0
  let running: Promise<void> | undefined
  const work = async (): Promise<void> => {
    if (clock.now() < retryAt) return
    try {
      await workOnce(options, done)
    } catch (error) {
      retryAt = clock.now() + retryMs
      log.error({ error }, 'a month could not be closed, or invoices not be reminded of; it is tried again')
    }
  }
  const tick = (): void => {
    running ??= work().finally(() => (running = undefined))
  }
  const timer = setInterval(tick, everyMs)
  timer.unref()
  tick()
  return {
    async close() {
      clearInterval(timer)
      await Promise.race([running, delay(closeMs, undefined, { ref: false })])
    },
  }
}

/** @param done what needs no look at the store any more */
async function workOnce(
  { records, seller: currentSeller, clock, log }: DocumentsOptions,
  done: { closed: string; reminded: string },
): Promise<void> {
  const seller = currentSeller()
  if (seller === undefined) return
  const at = clock.now()
  const month = monthToClose(at)
  const closed = `${seller.inn} ${month}`
  if (done.closed !== closed) {
    const { months, made } = await closeMonth(records, seller, { month, at })
    if (months.length > 0) log.info({ months, documents: made.length }, 'closed the month')
    done.closed = closed
  }
  const today = moscowDay(at)
  if (done.reminded !== today && (await remindInvoices(records, at))) done.reminded = today
}

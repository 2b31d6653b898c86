import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../platform/clock.ts'
import type { Seller } from '../companies/seller.ts'
import type { Log } from '../platform/log.ts'
import type { Records } from '../stores/records/records.ts'
import { closeMonth } from './month-close.ts'
import { moscowDay, shiftMonth, addWorkingDays, dayNumber, moscowHour } from '../ledger/moscow-days.ts'
import type { DocumentEmailRow } from '../stores/records/document-tables.ts'
import { documentEmailStep } from './document-emails.ts'
import { listInvoices, type StoredInvoice } from './invoices.ts'
import type { Store } from '../stores/store.ts'

interface DocumentsOptions {
  readonly records: Records
  /** The seller as currently configured; undefined: nothing is sold to companies. */
  readonly seller: () => Seller | undefined
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'error'>
  readonly everyMs?: number
}

/** Scheduled work on documents. */
interface OpenDocuments {
  close(): Promise<void>
}

const everyMsDefault = 60_000
const retryMs = 10 * 60_000
const closeMs = 5000
/** Charges of the last moments of a month may not be in the store yet. */
const graceMs = 10 * 60_000

/** No reminders are sent at night. */
const firstHour = 9
/** Older invoices date from before reminders existed, or the server was off. */
const lateDaysMax = 7

/** The latest month, in Moscow, that ended long enough ago for all its charges to be stored. */
export function monthToClose(now: number): string {
  return shiftMonth(moscowDay(now - graceMs).slice(0, 7), -1)
}

/**
 * Closes each month after its end, and sends reminders of invoices. Every node tries; the first to write succeeds,
 * and the others find it done.
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

/** @param done finished work, for which the store is not queried again */
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

/**
 * The email about an invoice that is due on a day: a reminder on the last working day before the due date, another
 * after the due date. Partly paid invoices are included.
 */
export function dueReminder(
  { state, document }: Pick<StoredInvoice, 'state' | 'document'>,
  today: string,
): Extract<DocumentEmailRow['kind'], 'invoice-reminder' | 'invoice-overdue'> | undefined {
  const { date, payUntil } = document
  if (state !== 'open' && state !== 'part-paid' && state !== 'overdue') return undefined
  if (today > payUntil)
    return dayNumber(today) - dayNumber(payUntil) > lateDaysMax ? undefined : 'invoice-overdue'
  // An invoice received yesterday needs no reminder yet.
  const isNew = dayNumber(today) - dayNumber(date) < 2
  return !isNew && addWorkingDays(today, 1) >= payUntil ? 'invoice-reminder' : undefined
}

/** Queues the reminders due on the current day, each once; false before nine o'clock. */
async function remindInvoices(records: Records, now: number): Promise<boolean> {
  if (moscowHour(now) < firstHour) return false
  const today = moscowDay(now)
  const payUntilFrom = moscowDay(now - (lateDaysMax + 1) * 24 * 60 * 60_000)
  for (const invoice of await listInvoices(records, today, { payUntilFrom })) {
    const kind = dueReminder(invoice, today)
    if (kind === undefined || invoice.isAccountDeleted) continue
    const about = { document_id: invoice.id, account_id: invoice.accountId, created_at: now }
    await records.write([documentEmailStep(records, { kind, ...about })])
  }
  return true
}

/** Scheduled work on documents, active while a seller is configured. */
interface DocumentWork {
  reload(seller: Seller | undefined): Promise<void>
  close(): Promise<void>
}

/** Starts to close months and send reminders; its modules are loaded only where there is a seller. */
export async function startDocumentWork(
  seller: Seller | undefined,
  store: Pick<Store, 'records'>,
  options: { readonly clock: Clock; readonly log: Pick<Log, 'info' | 'error'> },
): Promise<DocumentWork> {
  let current = seller
  let open: OpenDocuments | undefined
  const start = async (): Promise<void> => {
    if (current === undefined || open !== undefined) return
    const { openDocuments } = await import('./open-documents.ts')
    open = openDocuments({ ...options, records: await store.records(), seller: () => current })
  }
  await start()
  return {
    async reload(next) {
      current = next
      await start()
    },
    async close() {
      await open?.close()
    },
  }
}

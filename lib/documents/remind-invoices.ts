import type { DocumentEmailRow } from '../stores/records/document-email-tables.ts'
import type { Records } from '../stores/records/records.ts'
import { documentEmailStep } from './document-email-step.ts'
import { listInvoices } from './invoices.ts'
import type { StoredInvoice } from './invoices.ts'
import { addWorkingDays, dayNumber, moscowDay, moscowHour } from '../ledger/moscow-days.ts'

/** Nobody is reminded at night. */
const firstHour = 9
/** An older invoice was made before there were reminders, or while the server was off. */
const lateDaysMax = 7

/**
 * Which email an invoice is due for on a day: a reminder on the last working day before it is to be paid, one more when
 * that day is over. What was paid in part is reminded of, too.
 */
export function dueReminder(
  { state, document }: Pick<StoredInvoice, 'state' | 'document'>,
  today: string,
): Extract<DocumentEmailRow['kind'], 'invoice-reminder' | 'invoice-overdue'> | undefined {
  const { date, payUntil } = document
  if (state !== 'open' && state !== 'part-paid' && state !== 'overdue') return undefined
  if (today > payUntil)
    return dayNumber(today) - dayNumber(payUntil) > lateDaysMax ? undefined : 'invoice-overdue'
  // Who has got the invoice yesterday needs no reminder yet.
  const isNew = dayNumber(today) - dayNumber(date) < 2
  return !isNew && addWorkingDays(today, 1) >= payUntil ? 'invoice-reminder' : undefined
}

/**
 * Has reminders of invoices sent that are due on the day of a moment, each once; false before nine o'clock.
 */
export async function remindInvoices(records: Records, now: number): Promise<boolean> {
  if (moscowHour(now) < firstHour) return false
  const today = moscowDay(now)
  const payUntilFrom = moscowDay(now - (lateDaysMax + 1) * 24 * 60 * 60_000)
  for (const invoice of await listInvoices(records, today, { payUntilFrom })) {
    const kind = dueReminder(invoice, today)
    if (kind === undefined) continue
    const about = { document_id: invoice.id, account_id: invoice.accountId, created_at: now }
    await records.write([documentEmailStep(records, { kind, ...about })])
  }
  return true
}

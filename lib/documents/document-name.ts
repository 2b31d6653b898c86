import type { PrintedDocument } from './document.ts'
import { shortDay } from './print/printed-text.ts'

/** How people call a document: «Счёт № 12 от 20.11.2026», «Акт № 5 от 30.11.2026, исправление 1». */
export function documentName(document: PrintedDocument): string {
  if (document.kind === 'reconciliation')
    return `Акт сверки ${shortDay(document.from)} – ${shortDay(document.to)}`
  const kind = { invoice: 'Счёт', act: 'Акт', upd: 'УПД' }[document.kind]
  const correction = document.kind === 'invoice' ? undefined : document.correction
  const corrected = correction === undefined ? '' : `, исправление ${correction.number}`
  return `${kind} № ${document.number} от ${shortDay(document.date)}${corrected}`
}

import { html } from 'hono/html'
import type { Receipt } from '../../../payments/payment-reader.ts'
import { money, time } from '../../../web/format.ts'
import type { Html, OwnPage } from '../../page.ts'

/** What became of a receipt, in the user's words. */
export function receiptState({ texts }: OwnPage, { state, next_poll_at: nextPollAt }: Receipt): string {
  const { receiptStates, receiptGivenUp } = texts.balance
  return state === 'canceled' && nextPollAt === null ? receiptGivenUp : receiptStates[state]
}

/** Receipts, each with a way to its page. */
export function receiptList(page: OwnPage, receipts: readonly Receipt[]): Html {
  const { balance } = page.texts
  return html`<ul class="plain-list receipts">
    ${receipts.map(
      receipt =>
        html`<li>
          <span>
            <a href="/balance/receipts/${receipt.id}">${balance.receiptKinds[receipt.kind]}</a>
            <span class="quiet small"
              >${time(receipt.created_at, page.language)}, ${receiptState(page, receipt)}</span
            >
          </span>
          <span class="number">${money(receipt.amount_micros, page.language)}</span>
        </li>`,
    )}
  </ul>`
}

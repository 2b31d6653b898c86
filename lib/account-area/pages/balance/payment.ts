import { html } from 'hono/html'
import { isId } from '../../../new-id.ts'
import type { Payment } from '../../../payments/payment-reader.ts'
import { money } from '../../format.ts'
import type { Html, OwnPage, PageContext } from '../../page.ts'
import { layout } from '../../view/layout.ts'
import { qrCode } from '../../view/qr-code.ts'
import { showFailure } from '../failure.ts'

function failureText({ texts }: OwnPage, failure: string | null): string {
  const { reasons } = texts.payment
  const [party, reason = 'other'] = (failure ?? '').split('/')
  if (party === 'merchant') return reasons.refused
  return Object.hasOwn(reasons, reason) ? reasons[reason as keyof typeof reasons] : reasons.other
}

function waitingPart({ texts }: OwnPage, { state, method, confirmation_url: link }: Payment): Html {
  const { payment } = texts
  if (state === 'created' || link === null) {
    return html`<div role="status"><h2>${payment.created}</h2></div>
      <p class="quiet">${payment.createdText}</p>`
  }
  const isSbp = method === 'sbp'
  return html`<div role="status"><h2>${payment.pending}</h2></div>
    ${
      isSbp
        ? html`<p class="on-desktop">${payment.scan}</p>
            <div class="on-desktop">${qrCode(link, payment.scan)}</div>`
        : ''
    }
    <p><a class="button" href="${link}">${isSbp ? payment.openBank : payment.toPayment}</a></p>
    <p class="quiet">${payment.pendingText}</p>`
}

/** What became of a payment so far: the part of its page that changes by itself. */
function paymentPart(page: OwnPage, payment: Payment): Html {
  const texts = page.texts.payment
  if (payment.state === 'succeeded') {
    return html`<div role="status"><h2>${texts.succeeded}</h2></div>
      <p>${texts.succeededText(money(payment.amount_micros, page.language))}</p>
      ${payment.method_title === null ? '' : html`<p class="quiet">${texts.method}: ${payment.method_title}</p>`}
      <p><a class="button" href="/balance">${texts.toBalance}</a></p>`
  }
  if (payment.state === 'canceled') {
    const amount = payment.amount_micros / 1_000_000
    return html`<div role="status"><h2>${texts.canceled}</h2></div>
      <p>${failureText(page, payment.failure)}</p>
      <p class="quiet">${texts.notCharged}</p>
      <p><a class="button" href="/balance?rub=${amount}#amount">${texts.again}</a></p>`
  }
  return waitingPart(page, payment)
}

function headOf(payment: Payment, isGoing: boolean): Html {
  const isOpen = payment.state === 'created' || payment.state === 'pending'
  // A form may lead to pages of this site only, so the way to the payment page is a step of its own.
  if (isGoing && isOpen && payment.confirmation_url !== null)
    return html`<meta http-equiv="refresh" content="0;url=${payment.confirmation_url}" />`
  return isOpen ? html`<noscript><meta http-equiv="refresh" content="4" /></noscript>` : html``
}

/** A payment of one's own: how to pay it, and what became of it. It changes by itself, with script and without. */
export async function showPayment(context: PageContext, page: OwnPage): Promise<Response> {
  const { site, account, texts } = page
  const id = context.req.param('id') ?? ''
  const found = isId(id) ? await site.payments?.rows.payment(id) : undefined
  // Another's payment is as unknown as none.
  if (site.payments === undefined || found?.account_id !== account.accountId)
    return showFailure(context, page, 'notFound')
  const payment = await site.payments.look(found)
  const part = paymentPart(page, payment)
  if (context.req.query('part') === '1') {
    context.header('x-state', payment.state)
    return context.html(part)
  }
  const isGoing = context.req.query('go') === '1'
  return context.html(
    layout(
      page,
      { title: texts.payment.title, isNarrow: true, head: headOf(payment, isGoing) },
      html`<h1>${texts.payment.title}: ${money(payment.amount_micros, page.language)}</h1>
        <section
          class="card payment"
          aria-live="polite"
          data-refresh="/balance/payments/${id}?part=1"
          data-state="${payment.state}"
        >
          ${part}
        </section>
        <p class="quiet small">${texts.payment.number}: <code>${id}</code></p>
        <p><a href="/balance">${texts.payment.toBalance}</a></p>`,
    ),
  )
}

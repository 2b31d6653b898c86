import { html } from 'hono/html'
import { isId } from '../../../platform/new-id.ts'
import type { Payment, Receipt } from '../../../payments/payment-reader.ts'
import type { PaymentService } from '../../../payments/payment-service.ts'
import { money, time } from '../../../web/format.ts'
import type { PageResponse, Html, OwnPage, Site } from '../../page.ts'
import type { PageContext } from '../../../web/web-page.ts'
import { entryList } from '../../../web/view/data-table.ts'
import { layout } from '../../../web/view/layout.ts'
import { qrCode } from '../../../web/view/qr-code.ts'
import { pathPart } from '../../../web/http/read-form.ts'
import { showFailure } from '../../../web/pages/failure.ts'
import { receiptList } from './receipts.ts'
import type { Texts } from '../../texts/texts.ts'
import type { BlockList } from 'node:net'
import { addressList, addressOf, isListed } from '../../../http/client-address.ts'
import { readBody } from '../../../http/read-body.ts'
import { ProviderError } from '../../../payments/payment-provider.ts'

const bodyBytesMax = 256 * 1024

/** Undefined when the text is not JSON; such a notification is ignored. */
function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/**
 * Receives notifications of the payment provider. The sender's address is checked where trusted proxies report it;
 * the content is only a hint in any case. The provider repeats a notification without a response of 200.
 */
export function paymentNotifications(site: Site, trusted: BlockList) {
  return async (context: PageContext): Promise<Response> => {
    const { payments, log } = site
    if (payments === undefined) return context.text('', 404)
    const { incoming } = context.env
    const senders = payments.settings().yookassa?.notificationAddresses
    const address = addressOf(incoming, trusted)
    const isSaid = site.config.trustedProxies.length > 0
    if (isSaid && senders !== undefined && !isListed(addressList(senders), address)) {
      log.warn({ address }, 'a payment notification came from an address that is not the provider')
      return context.text('', 403)
    }
    const body = await readBody(incoming, bodyBytesMax)
    // The rest of the body is not read, so the connection cannot be reused.
    if (body === undefined) return context.text('', 413, { connection: 'close' })
    try {
      const ending = await payments.notified(parsedJson(body.toString('utf8')))
      if (ending === 'unknown')
        log.info({ address }, 'a payment notification is about nothing that is known here')
      return context.text('', ending === 'busy' ? 429 : 200)
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error
      // An object that the provider does not know cannot come from the provider.
      const isForged = error.failure === 'not_found'
      log.warn(
        { error, address },
        isForged ? 'a payment notification is forged' : 'a notified payment could not be fetched',
      )
      return context.text('', isForged ? 200 : 500)
    }
  }
}

/** A card by its last digits for the user; otherwise as the provider names it. */
export function cardLabel({ payment }: Texts, title: string): string {
  const digits = /\*(\d{4})$/.exec(title)?.[1]
  return digits === undefined ? title : payment.card(digits)
}

/** The payment method; undefined while it is unknown. */
function methodLabel(
  texts: Texts,
  { method, method_title: title }: Pick<Payment, 'method' | 'method_title'>,
): string | undefined {
  if (method === 'sbp') return texts.payment.sbp
  return title === null ? undefined : cardLabel(texts, title)
}

/** Why a payment failed and what to try, in plain words; `failure` is `party/reason`. */
export function failureText({ payment }: Texts, failure: string | null): string {
  const { reasons } = payment
  const [party, reason = 'other'] = (failure ?? '').split('/')
  if (party === 'merchant') return reasons.refused
  return Object.hasOwn(reasons, reason) ? reasons[reason as keyof typeof reasons] : reasons.other
}

function waitingPart({ texts }: OwnPage, payment: Payment, isProviderDown: boolean): Html {
  const words = texts.payment
  const { state, method, confirmation_url: link, origin } = payment
  if (origin === 'automatic') {
    return html`<div role="status"><h2>${words.charging}</h2></div>
      <p class="quiet">${words.chargingText}</p>`
  }
  if (state === 'created' || link === null) {
    return html`<div role="status"><h2>${isProviderDown ? words.down : words.created}</h2></div>
      <p class="quiet">${isProviderDown ? words.downText : words.createdText}</p>`
  }
  const isSbp = method === 'sbp'
  const code = html`<p class="on-desktop">${words.scan}</p>
    <div class="on-desktop">${qrCode(link, words.scan)}</div>
    <p class="on-desktop"><a href="${link}">${words.openHere}</a></p>
    <p class="on-phone"><a class="button" href="${link}">${words.openBank}</a></p>`
  return html`<div role="status"><h2>${words.pending}</h2></div>
    ${isSbp ? code : html`<p><a class="button" href="${link}">${words.toPayment}</a></p>`}
    <p class="quiet">${words.pendingText}</p>`
}

/** The refunds and receipts of a payment. */
async function afterwards(
  page: OwnPage,
  { rows }: PaymentService,
  { id }: Payment,
  receipts: readonly Receipt[],
): Promise<Html> {
  const { texts, language } = page
  const refunds = (await rows.refundsOf(id)).map(
    ({ created_at: at, state, reason, amount_micros: amount }) => ({
      name: texts.payment.refundStates[state],
      note: `${time(at, language)}, ${reason}`,
      beside: money(amount, language),
    }),
  )
  const part = (title: string, list: Html): Html =>
    html`<h3>${title}</h3>
      ${list}`
  return html`${refunds.length === 0 ? '' : part(texts.payment.refunds, entryList(refunds))}
  ${receipts.length === 0 ? '' : part(texts.balance.receipts, receiptList(page, receipts))}`
}

/** The current state of a payment: the part of its page that updates itself. */
async function paymentPart(
  page: OwnPage,
  payments: PaymentService,
  payment: Payment,
  receipts: readonly Receipt[],
): Promise<Html> {
  const { language } = page
  const texts = page.texts.payment
  if (payment.state === 'succeeded') {
    const method = methodLabel(page.texts, payment)
    return html`<div role="status"><h2>${texts.succeeded}</h2></div>
      <p>${texts.succeededText(money(payment.amount_micros, language))}</p>
      ${method === undefined ? '' : html`<p class="quiet">${texts.method}: ${method}</p>`}
      <p><a class="button" href="/balance">${texts.toBalance}</a></p>
      ${await afterwards(page, payments, payment, receipts)}`
  }
  if (payment.state === 'canceled') {
    const amount = payment.amount_micros / 1_000_000
    return html`<div role="status"><h2>${texts.canceled}</h2></div>
      <p>${failureText(page.texts, payment.failure)}</p>
      <p class="quiet">${texts.notCharged}</p>
      <p><a class="button" href="/balance?rub=${amount}#amount">${texts.again}</a></p>`
  }
  return waitingPart(page, payment, payments.isProviderDown)
}

function headOf(payment: Payment, isGoing: boolean): Html {
  const isOpen = payment.state === 'created' || payment.state === 'pending'
  // The content security policy allows forms to lead only to this site, so the redirect to the payment page is a
  // separate step.
  if (isGoing && isOpen && payment.confirmation_url !== null)
    return html`<meta http-equiv="refresh" content="0;url=${payment.confirmation_url}" />`
  return isOpen ? html`<noscript><meta http-equiv="refresh" content="4" /></noscript>` : html``
}

/** The version by which the page detects a change; `succeeded` and `canceled` are final. */
function stateOf({ state }: Payment, receipts: readonly Receipt[], isProviderDown: boolean): string {
  if (state === 'succeeded' && receipts.some(one => one.state === 'pending')) return 'registering'
  return state === 'created' && isProviderDown ? 'down' : state
}

/** A payment of the account: how to pay it, and its state. The page updates itself, with script and without. */
export async function showPayment(page: OwnPage): Promise<PageResponse> {
  const { site, account, texts } = page
  const { payments } = site
  const id = pathPart(page)
  const found = isId(id) ? await payments?.rows.payment(id) : undefined
  // A payment of another account is treated as unknown.
  if (payments === undefined || found?.account_id !== account.accountId) return showFailure(page, 'notFound')
  const payment = await payments.look(found)
  const receipts = await payments.rows.receiptsOf(id)
  const state = stateOf(payment, receipts, payments.isProviderDown)
  const part = await paymentPart(page, payments, payment, receipts)
  if (page.context.req.query('part') === '1') {
    page.context.header('x-state', state)
    return part
  }
  const isGoing = page.context.req.query('go') === '1'
  const title = payment.origin === 'automatic' ? texts.autoTopUp.title : texts.payment.title
  return layout(
    page,
    { title, isNarrow: true, head: headOf(payment, isGoing) },
    html`<h1>${title}: ${money(payment.amount_micros, page.language)}</h1>
      <section
        class="card payment"
        aria-live="polite"
        data-refresh="/balance/payments/${id}?part=1"
        data-state="${state}"
      >
        ${part}
      </section>
      <p class="quiet small">${texts.payment.number}: <code>${id}</code></p>
      <p><a href="/balance">${texts.payment.toBalance}</a></p>`,
  )
}

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../../platform/clock.ts'
import { readRequest } from '../sandbox-response.ts'
import { faultResponse, ShopApi, type ShopResponse, type ShopRequest } from './shop-api.ts'
import { paymentJson, refundJson, kopecksOf, type ShopPayment } from './shop-objects.ts'
import { Shop } from './shop.ts'

/**
 * How the next call of the API fails. `applied`: it takes effect, but the response does not say so. `hang`: there is no
 * response.
 */
export type Fault =
  | 'applied-500'
  | 'applied-202'
  | 'applied-cut'
  | 'applied-hang'
  | '500'
  | '429'
  | 'cut'
  | 'hang'

/** How notifications are sent from now on. */
interface NotifierTemper {
  /** How often each is sent. */
  copies: number
  delayMs: number
}

/** Delays before a notification without a 200 response is sent again. */
const retriesMs = [500, 2000, 10_000, 60_000, 300_000]

/** Sends notifications to the shop's address, until they are acknowledged. */
class Notifier {
  readonly temper: NotifierTemper = { copies: 1, delayMs: 0 }
  readonly #stop = new AbortController()
  #url: string | undefined

  /** Sets the address for notifications; without one, none are sent. */
  notifyTo(url: string | undefined): void {
    this.#url = url
  }

  send(event: string, object: object): void {
    const body = JSON.stringify({ type: 'notification', event, object })
    for (let copy = 0; copy < this.temper.copies; copy += 1) void this.#deliver(body)
  }

  close(): void {
    this.#stop.abort()
  }

  async #deliver(body: string): Promise<void> {
    const { signal } = this.#stop
    try {
      await delay(this.temper.delayMs, undefined, { signal, ref: false })
      for (const retryMs of retriesMs) {
        if (this.#url === undefined || (await this.#post(this.#url, body))) return
        await delay(retryMs, undefined, { signal, ref: false })
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  async #post(url: string, body: string): Promise<boolean> {
    const headers = { 'content-type': 'application/json' }
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(10_000)])
    try {
      const response = await fetch(url, { method: 'POST', headers, body, signal })
      await response.arrayBuffer()
      return response.status === 200
    } catch (error) {
      // The receiver is unreachable: the notification is sent again later.
      if (error instanceof TypeError || (error instanceof Error && error.name === 'TimeoutError'))
        return false
      throw error
    }
  }
}

/** The payment sandbox, listening. Its members are the faults and events that tests and demos trigger. */
export interface PaymentSandbox {
  /** `http://127.0.0.1:PORT`; the API is below `/v3`. */
  readonly origin: string
  readonly shop: Shop
  readonly notifications: NotifierTemper
  /** The faults of the next calls of the API, one each. */
  readonly faults: Fault[]
  /** While it is down no call gets a response. */
  isDown: boolean
  notifyTo(url: string | undefined): void
  close(): Promise<void>
}

interface SandboxOptions {
  readonly clock: Clock
  readonly port?: number
}

const bodyBytesMax = 256 * 1024

/** Starts a payment provider on the loopback address that speaks YooKassa's API and moves no money. */
export async function startPaymentSandbox({ clock, port = 0 }: SandboxOptions): Promise<PaymentSandbox> {
  const notifier = new Notifier()
  const where = { origin: '' }
  const shop = new Shop(clock, (event, id) => {
    const payment = shop.payments.get(id)
    const refund = shop.refunds.get(id)
    if (payment !== undefined) notifier.send(event, paymentJson(payment, where.origin))
    if (refund !== undefined) notifier.send(event, refundJson(refund))
  })
  const api = new ShopApi(shop, () => where.origin)
  const faults: Fault[] = []
  const server = createServer((incoming, response) => {
    // A failure here means a disconnected client, or a fault of the sandbox: a truncated response shows either.
    respond(incoming, response).catch(() => response.destroy())
  })
  const respond = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const read = await readRequest(incoming, bodyBytesMax)
    const request = read && { ...read, body: read.body.toString('utf8') }
    const isApi = request?.path.startsWith('/v3/') === true
    if (request === undefined || (isApi && sandbox.isDown)) response.destroy()
    else if (isApi) answerApi({ ...request, path: request.path.slice(3) }, response, api, faults)
    else answerPage(request, response, shop)
  }
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  where.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const sandbox: PaymentSandbox = {
    ...where,
    shop,
    notifications: notifier.temper,
    faults,
    isDown: false,
    notifyTo: url => notifier.notifyTo(url),
    async close() {
      notifier.close()
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
  return sandbox
}

function answerApi(request: ShopRequest, response: ServerResponse, api: ShopApi, faults: Fault[]): void {
  const fault = faults.shift()
  if (fault === 'hang') return
  if (fault === 'cut') return void response.destroy()
  if (fault === '500') return sendJson(response, faultResponse(500))
  if (fault === '429') return sendJson(response, faultResponse(429))
  const answer = api.answer(request)
  if (fault === 'applied-hang') return
  if (fault === 'applied-cut') return void response.destroy()
  if (fault === 'applied-500') return sendJson(response, faultResponse(500))
  return sendJson(response, fault === 'applied-202' ? faultResponse(202) : answer)
}

/** The page's reasons for a decline, by the API's names. */
const reasons = [
  'insufficient_funds',
  '3d_secure_failed',
  'general_decline',
  'card_expired',
  'fraud_suspected',
]

const texts = {
  ru: {
    title: 'Тестовая оплата',
    note: 'Это песочница: деньги не списываются.',
    card: 'Оплатить картой',
    sbp: 'Оплатить через СБП',
    decline: 'Отклонить',
    saves: 'Карта сохранится для автоматических списаний.',
    back: 'Вернуться в магазин',
    succeeded: 'Оплачено',
    canceled: 'Отменено',
  },
  en: {
    title: 'Test payment',
    note: 'This is a sandbox: no money moves.',
    card: 'Pay by card',
    sbp: 'Pay by SBP',
    decline: 'Decline',
    saves: 'The card is saved for automatic payments.',
    back: 'Back to the shop',
    succeeded: 'Paid',
    canceled: 'Canceled',
  },
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}

/** The page on which a customer pays, declines, or leaves the payment open. */
function payPage({ id, status, body }: ShopPayment): string {
  const text = body.confirmation?.locale === 'en_US' ? texts.en : texts.ru
  const method = body.payment_method_data?.type
  const offered = (['bank_card', 'sbp'] as const).filter(one => method === undefined || method === one)
  const amount = (kopecksOf(body.amount) / 100).toFixed(2)
  const buttons = offered.map(
    one => `<button name="pay" value="${one}">${one === 'sbp' ? text.sbp : text.card}</button>`,
  )
  const options = reasons.map(reason => `<option>${reason}</option>`).join('')
  const form = `<form method="post" action="/pay/${id}">${buttons.join('')}</form>
<form method="post" action="/pay/${id}"><select name="decline">${options}</select><button>${text.decline}</button></form>`
  return `<!doctype html><html lang="${text === texts.ru ? 'ru' : 'en'}"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>${text.title}</title>
<style>body{font:18px/1.5 sans-serif;max-width:26rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}
button,select{font:inherit;padding:.6rem 1rem;margin:.3rem .3rem .3rem 0}</style>
<h1>${text.title}</h1><p>${text.note}</p><p><strong>${amount} ₽</strong><br>${escaped(body.description ?? '')}</p>
${status === 'pending' ? form : `<p role="status">${text[status]}</p>`}
${body.save_payment_method === true ? `<p>${text.saves}</p>` : ''}
<p><a href="${escaped(body.confirmation?.return_url ?? '')}">${text.back}</a></p></html>`
}

/** The page of a payment, and the actions on it. */
function answerPage({ method, path, body }: ShopRequest, response: ServerResponse, shop: Shop): void {
  const payment = shop.payment(/^\/pay\/([\w-]+)$/.exec(path)?.[1] ?? '')
  if (payment === undefined) {
    response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('There is no such payment.')
    return
  }
  if (method === 'POST') {
    const form = new URLSearchParams(body)
    const pay = form.get('pay')
    if (pay === 'bank_card' || pay === 'sbp') shop.pay(payment, pay)
    else shop.cancel(payment, form.get('decline') ?? 'general_decline')
    response.writeHead(303, { location: payment.body.confirmation?.return_url ?? `/pay/${payment.id}` }).end()
    return
  }
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
  response.end(payPage(payment))
}

function sendJson(response: ServerResponse, { status, json }: ShopResponse): void {
  const body = JSON.stringify(json)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
}

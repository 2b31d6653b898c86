import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from '../../platform/clock.ts'
import { Notifier } from './notifier.ts'
import type { NotifierTemper } from './notifier.ts'
import { payPage } from './pay-page.ts'
import { faultAnswer, ShopApi } from './shop-api.ts'
import type { ShopAnswer, ShopRequest } from './shop-api.ts'
import { paymentJson, refundJson } from './shop-objects.ts'
import { Shop } from './shop.ts'

/** How the next call of the API fails. `applied`: it is done, and the answer does not say so. `hang`: no answer comes. */
export type Fault =
  'applied-500' | 'applied-202' | 'applied-cut' | 'applied-hang' | '500' | '429' | 'cut' | 'hang'

/** The payment sandbox, listening. Its members are the faults and events that tests and demos ask for. */
export interface PaymentSandbox {
  /** `http://127.0.0.1:PORT`; the API is below `/v3`. */
  readonly origin: string
  readonly shop: Shop
  readonly notifications: NotifierTemper
  /** Calls of the API fail so, one by one. */
  readonly faults: Fault[]
  /** No call is answered while it is down. */
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
    // What fails here is a client that left, or a fault of the sandbox: either way a cut answer says it.
    respond(incoming, response).catch(() => response.destroy())
  })
  const respond = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = await read(incoming)
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
  if (fault === '500') return sendJson(response, faultAnswer(500))
  if (fault === '429') return sendJson(response, faultAnswer(429))
  const answer = api.answer(request)
  if (fault === 'applied-hang') return
  if (fault === 'applied-cut') return void response.destroy()
  if (fault === 'applied-500') return sendJson(response, faultAnswer(500))
  return sendJson(response, fault === 'applied-202' ? faultAnswer(202) : answer)
}

/** The page of a payment, and what is done on it. */
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

function sendJson(response: ServerResponse, { status, json }: ShopAnswer): void {
  const body = JSON.stringify(json)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
}

/** The request with its whole body; undefined when that is too large. */
async function read(incoming: IncomingMessage): Promise<ShopRequest | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > bodyBytesMax) return undefined
    chunks.push(chunk)
  }
  const url = new URL(incoming.url ?? '/', 'http://sandbox')
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (typeof value === 'string') headers[name] = value
  }
  return {
    method: incoming.method ?? 'GET',
    path: url.pathname,
    query: url.searchParams,
    headers,
    body: Buffer.concat(chunks).toString('utf8'),
  }
}

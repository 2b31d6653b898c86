import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import type { SandboxRequest } from '../sandbox-response.ts'
import { paymentBody, receiptBody, refundBody, paymentJson, receiptJson, refundJson } from './shop-objects.ts'
import { ShopRefusal, type Shop } from './shop.ts'

/** A request as the shop reads it. */
export interface ShopRequest extends Omit<SandboxRequest, 'body'> {
  readonly body: string
}

export interface ShopResponse {
  readonly status: number
  readonly json: object
}

interface KeptResponse extends ShopResponse {
  readonly path: string
  readonly body: string
  readonly atMs: number
}

const idempotenceMs = 24 * 3_600_000
const keyPattern = /^[0-9a-zA-Z+\-_.]{1,64}$/

function problem(status: number, code: string, description: string, parameter?: string): ShopResponse {
  const json = {
    type: 'error',
    id: randomUUID(),
    code,
    description,
    ...(parameter === undefined ? {} : { parameter }),
  }
  return { status, json }
}

/** The response when the shop is told to fail. */
export function faultResponse(status: 202 | 429 | 500): ShopResponse {
  if (status === 202) return { status, json: { type: 'processing', retry_after: 1000 } }
  return status === 429
    ? problem(429, 'too_many_requests', 'Too many requests')
    : problem(500, 'internal_server_error', 'Something went wrong')
}

/** The API of a shop: paths, keys and bodies as YooKassa's v3 has them. */
export class ShopApi {
  readonly #shop: Shop
  readonly #origin: () => string
  readonly #keys = new Map<string, KeptResponse>()

  constructor(shop: Shop, origin: () => string) {
    this.#shop = shop
    this.#origin = origin
  }

  answer(request: ShopRequest): ShopResponse {
    const { method, headers, path } = request
    const [id = '', key = ''] = Buffer.from(headers['authorization']?.replace(/^Basic /, '') ?? '', 'base64')
      .toString()
      .split(':')
    // A real shop's key must not be used here: its owner would believe in payments that were never made.
    if (id === '' || !key.startsWith('test_'))
      return problem(401, 'invalid_credentials', 'Error in shopId or secret key')
    if (method === 'GET') return this.#get(path, request.query)
    if (method !== 'POST') return problem(405, 'invalid_request', 'The method is not allowed')
    if (headers['content-type']?.startsWith('application/json') !== true)
      return problem(415, 'invalid_request', 'The content type is not application/json')
    return this.#once(request)
  }

  /** A repeated key gets its first response; with another body it is refused. */
  #once(request: ShopRequest): ShopResponse {
    const { path, body } = request
    const key = request.headers['idempotence-key'] ?? ''
    if (!keyPattern.test(key))
      return problem(400, 'invalid_request', 'Idempotence key is missing or malformed', 'Idempotence-Key')
    const kept = this.#keys.get(key)
    if (kept !== undefined && this.#shop.now() - kept.atMs < idempotenceMs) {
      if (kept.path === path && kept.body === body) return kept
      return problem(400, 'invalid_request', 'Idempotence key duplicated', 'Idempotence-Key')
    }
    const response = this.#post(path, body)
    if (response.status === 200) this.#keys.set(key, { ...response, path, body, atMs: this.#shop.now() })
    return response
  }

  #post(path: string, text: string): ShopResponse {
    try {
      if (path === '/payments')
        return ok(paymentJson(this.#shop.createPayment(read(paymentBody, text)), this.#origin()))
      if (path === '/refunds') return ok(refundJson(this.#shop.createRefund(read(refundBody, text))))
      if (path === '/receipts') return ok(receiptJson(this.#shop.createReceipt(read(receiptBody, text))))
    } catch (error) {
      if (!(error instanceof ShopRefusal)) throw error
      return problem(400, 'invalid_request', error.message, error.parameter)
    }
    return problem(404, 'not_found', 'There is no such method')
  }

  #get(path: string, query: URLSearchParams): ShopResponse {
    const [, collection = '', id] = path.split('/')
    const shop = this.#shop
    if (id !== undefined) {
      const payment = collection === 'payments' ? shop.payment(id) : undefined
      if (payment !== undefined) return ok(paymentJson(payment, this.#origin()))
      const refund = collection === 'refunds' ? shop.refunds.get(id) : undefined
      if (refund !== undefined) return ok(refundJson(refund))
      const receipt = collection === 'receipts' ? shop.receipts.get(id) : undefined
      if (receipt !== undefined) return ok(receiptJson(receipt))
      return problem(404, 'not_found', 'There is no such object', 'id')
    }
    if (collection === 'payments') return this.#listPayments(query)
    if (collection === 'refunds') {
      const refunds = [...shop.refunds.values()].filter(({ body }) =>
        isOf(query, 'payment_id', body.payment_id),
      )
      return list(refunds.map(refundJson), query)
    }
    if (collection === 'receipts') {
      const receipts = [...shop.receipts.values()].filter(
        ({ body }) => isOf(query, 'payment_id', body.payment_id) && isOf(query, 'refund_id', body.refund_id),
      )
      return list(receipts.map(receiptJson), query)
    }
    return problem(404, 'not_found', 'There is no such method')
  }

  #listPayments(query: URLSearchParams): ShopResponse {
    const from = Date.parse(query.get('created_at.gte') ?? '1970-01-01')
    const until = Date.parse(query.get('created_at.lt') ?? '9999-01-01')
    const found = [...this.#shop.payments.keys()]
      .map(id => this.#shop.payment(id))
      .filter(payment => payment !== undefined)
      .filter(({ createdMs }) => createdMs >= from && createdMs < until)
      .toReversed()
    return list(
      found.map(payment => paymentJson(payment, this.#origin())),
      query,
    )
  }
}

function isOf(query: URLSearchParams, name: string, value: string | undefined): boolean {
  return !query.has(name) || query.get(name) === value
}

function ok(json: object): ShopResponse {
  return { status: 200, json }
}

function list(items: readonly object[], query: URLSearchParams): ShopResponse {
  const limit = Number(query.get('limit') ?? 10)
  const from = Number(query.get('cursor') ?? 0)
  const more = from + limit < items.length ? { next_cursor: String(from + limit) } : {}
  return ok({ type: 'list', items: items.slice(from, from + limit), ...more })
}

/** @throws ShopRefusal naming the first invalid member */
function read<S extends z.ZodType>(schema: S, text: string): z.output<S> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new ShopRefusal('body', 'The body is no JSON')
  }
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new ShopRefusal(issue?.path.join('.') ?? 'body', issue?.message ?? 'The body is invalid')
}

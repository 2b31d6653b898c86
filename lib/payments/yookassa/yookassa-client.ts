import { setTimeout as delay } from 'node:timers/promises'
import { Agent, request } from 'undici'
import type { z } from 'zod'
import type { Clock } from '../../platform/clock.ts'
import { ProviderError } from '../payment-provider.ts'
import type { CreateRequest, PaymentProvider, ProviderFailure } from '../payment-provider.ts'
import {
  errorSchema,
  listSchema,
  paymentOf,
  paymentSchema,
  receiptOf,
  receiptSchema,
  refundOf,
  refundSchema,
} from './yookassa-objects.ts'

interface YookassaOptions {
  readonly name: string
  readonly clock: Clock
  readonly baseUrl: URL
  readonly shopId: string
  readonly secretKey: string
  /** Delays in milliseconds before the same body is sent again under its key. */
  readonly retriesMs?: readonly number[]
  readonly timeoutMs?: number
}

interface Call {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly create?: CreateRequest
}

const retriesMsDefault = [500, 1500]
const timeoutMsDefault = 20_000
const responseBytesMax = 4 * 1024 * 1024
const pageSize = 100

/** The prefix of test shops' keys. */
const testKey = /^test_/

/**
 * YooKassa's API v3. A POST with an unknown result (500, 202, no response) is sent again under the same key with the
 * same bytes; if it is still unknown, a later query for the object decides.
 */
export function yookassaClient(options: YookassaOptions): PaymentProvider {
  const { timeoutMs = timeoutMsDefault } = options
  const agent = new Agent({
    connect: { timeout: 5000 },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    connections: 8,
    maxResponseSize: responseBytesMax,
  })
  let unansweredSince: number | undefined
  const call = async <S extends z.ZodType>(schema: S, what: Call): Promise<z.output<S>> => {
    try {
      const found = await callWithRetries(options, agent, schema, what)
      unansweredSince = undefined
      return found
    } catch (error) {
      const isAnswer = error instanceof ProviderError && error.failure !== 'unknown'
      unansweredSince = isAnswer ? undefined : (unansweredSince ?? options.clock.now())
      throw error
    }
  }
  const get = <S extends z.ZodType>(schema: S, path: string): Promise<z.output<S>> =>
    call(schema, { method: 'GET', path })
  return {
    name: options.name,
    isTest: testKey.test(options.secretKey),
    unansweredSince: () => unansweredSince,
    createPayment: async create =>
      paymentOf(await call(paymentSchema, { method: 'POST', path: '/payments', create })),
    payment: async id => paymentOf(await get(paymentSchema, `/payments/${encodeURIComponent(id)}`)),
    async *payments(from, until) {
      const time = `created_at.gte=${isoTime(from)}&created_at.lt=${isoTime(until)}&limit=${pageSize}`
      for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
        const after = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`
        const page: z.output<typeof paymentList> = await get(paymentList, `/payments?${time}${after}`)
        cursor = page.next_cursor ?? undefined
        yield* page.items.map(paymentOf)
      }
    },
    createRefund: async create =>
      refundOf(await call(refundSchema, { method: 'POST', path: '/refunds', create })),
    refund: async id => refundOf(await get(refundSchema, `/refunds/${encodeURIComponent(id)}`)),
    async refundsOf(payment) {
      const path = `/refunds?payment_id=${encodeURIComponent(payment)}&limit=${pageSize}`
      return (await get(listSchema(refundSchema), path)).items.map(refundOf)
    },
    createReceipt: async create =>
      receiptOf(await call(receiptSchema, { method: 'POST', path: '/receipts', create })),
    receipt: async id => receiptOf(await get(receiptSchema, `/receipts/${encodeURIComponent(id)}`)),
    async receiptsOf(object) {
      const of =
        'payment' in object
          ? `payment_id=${encodeURIComponent(object.payment)}`
          : `refund_id=${encodeURIComponent(object.refund)}`
      return (await get(listSchema(receiptSchema), `/receipts?${of}&limit=${pageSize}`)).items.map(receiptOf)
    },
    // A hanging call must not keep the process alive.
    close: () => agent.destroy(),
  }
}

const paymentList = listSchema(paymentSchema)

function isoTime(at: number): string {
  return encodeURIComponent(new Date(at).toISOString())
}

async function callWithRetries<S extends z.ZodType>(
  options: YookassaOptions,
  agent: Agent,
  schema: S,
  what: Call,
): Promise<z.output<S>> {
  for (const waitMs of options.retriesMs ?? retriesMsDefault) {
    try {
      return await callOnce(options, agent, schema, what)
    } catch (error) {
      if (!(error instanceof ProviderError) || error.failure !== 'unknown') throw error
    }
    await delay(waitMs)
  }
  return callOnce(options, agent, schema, what)
}

async function callOnce<S extends z.ZodType>(
  { baseUrl, shopId, secretKey, name }: YookassaOptions,
  agent: Agent,
  schema: S,
  { method, path, create }: Call,
): Promise<z.output<S>> {
  const { status, text } = await send(agent, `${baseUrl.href.replace(/\/$/, '')}${path}`, {
    method,
    headers: {
      authorization: `Basic ${Buffer.from(`${shopId}:${secretKey}`).toString('base64')}`,
      ...(create === undefined
        ? {}
        : { 'content-type': 'application/json', 'idempotence-key': create.idempotenceKey }),
    },
    body: create?.body ?? null,
  })
  const place = `${name}: ${method} ${path.split('?', 1)[0]}`
  if (status !== 200) throw failedCall(place, status, text)
  const parsed = schema.safeParse(parsedJson(text))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const where = issue?.path.join('.') ?? ''
  throw new ProviderError(
    'unknown',
    `${place} answered what is no such object (${where}: ${issue?.message ?? ''})`,
  )
}

interface Sent {
  readonly method: 'GET' | 'POST'
  readonly headers: Record<string, string>
  readonly body: string | null
}

async function send(agent: Agent, url: string, sent: Sent): Promise<{ status: number; text: string }> {
  try {
    const { statusCode, body } = await request(url, { ...sent, dispatcher: agent })
    return { status: statusCode, text: await body.text() }
  } catch (cause) {
    const { host } = new URL(url)
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ProviderError('unknown', `${host} did not answer: ${reason}`, { cause })
  }
}

/** Undefined when the text is not JSON; every schema here rejects undefined. */
function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function failedCall(place: string, status: number, text: string): ProviderError {
  const { data } = errorSchema.safeParse(parsedJson(text))
  const said =
    data === undefined
      ? ''
      : `: ${data.code}${data.parameter === undefined ? '' : ` (${data.parameter})`} ${data.description ?? ''}`
  const { parameter } = data ?? {}
  return new ProviderError(failureOf(status, data), `${place} answered ${status}${said.trimEnd()}`, {
    parameter,
  })
}

function failureOf(status: number, error: z.output<typeof errorSchema> | undefined): ProviderFailure {
  if (status === 401 || status === 403) return 'credentials'
  if (status === 404) return 'not_found'
  // The key was used with a body other than the stored one, so an object may exist: it must be looked for.
  if (error?.parameter === 'Idempotence-Key') return 'unknown'
  const isRefused = status >= 400 && status < 500 && status !== 429
  return isRefused ? 'refused' : 'unknown'
}

import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { systemClock } from '../../../lib/platform/clock.ts'
import type { CreateRequest, PaymentProvider, ProviderError } from '../../../lib/payments/payment-provider.ts'
import { paymentBody, refundBody } from '../../../lib/payments/payment-request.ts'
import { yookassaClient } from '../../../lib/payments/yookassa/yookassa-client.ts'
import { roubles } from '../../contracts/store-under-test.ts'
import { clientOf, openSandbox } from '../../fixtures/payment-shop.ts'

const settings = {
  from: 0,
  vatCode: 1,
  paymentMode: 'full_prepayment',
  subject: 'service',
} as const

interface PaymentChoice {
  readonly rub?: number
  readonly method?: 'bank_card' | 'sbp'
  readonly withReceipt?: boolean
}

/** The request that creates a payment, with an id of its own. */
function payment({ rub = 150.5, method = 'bank_card', withReceipt = true }: PaymentChoice = {}): {
  readonly id: string
  readonly request: CreateRequest
} {
  const id = `p-${randomUUID()}`
  const confirmation = { method, returnUrl: 'https://shop.example/balance', language: 'ru' } as const
  const of = {
    id,
    accountId: 'contract-test',
    amountMicros: roubles(rub),
    email: 'a@example.org',
    way: confirmation,
  }
  return {
    id,
    request: { body: paymentBody(of, withReceipt ? settings : undefined), idempotenceKey: randomUUID() },
  }
}

async function failureOf(call: Promise<unknown>): Promise<Partial<ProviderError>> {
  return call.then(
    () => ({ message: 'the call succeeded' }),
    (error: ProviderError) => ({ failure: error.failure, parameter: error.parameter }),
  )
}

/** The contract of the shop's API and of the sandbox that replaces it. No payment is made. */
async function keepsContract(t: Test, client: PaymentProvider, unauthorised: PaymentProvider): Promise<void> {
  await t.test('a payment is created once for its key, and is found by its id and its time', async t => {
    const { id, request } = payment()
    const from = Date.now() - 300_000
    const made = await client.createPayment(request)
    t.match(made, {
      state: 'pending',
      amountMicros: roubles(150.5),
      currency: 'RUB',
      isTest: true,
      paymentId: id,
      accountId: 'contract-test',
      confirmationUrl: /^https?:/,
    })
    t.equal((await client.createPayment(request)).id, made.id, 'a repeated creation returns the same payment')
    t.match(await client.payment(made.id), { id: made.id, state: 'pending', paymentId: id })
    const listed = await Array.fromAsync(client.payments(from, Date.now() + 300_000))
    t.equal(listed.filter(found => found.id === made.id).length, 1, 'the list has it once')
  })

  await t.test('a payment by SBP has the text of a QR code', async t => {
    const made = await client.createPayment(payment({ method: 'sbp' }).request)
    t.match(made, { state: 'pending', confirmationUrl: /^https?:/ })
  })

  await t.test('an idempotence key with another body has an unknown outcome', async t => {
    const { request } = payment()
    await client.createPayment(request)
    const other = { ...payment({ rub: 200 }).request, idempotenceKey: request.idempotenceKey }
    t.match(await failureOf(client.createPayment(other)), {
      failure: 'unknown',
      parameter: 'Idempotence-Key',
    })
  })

  await t.test('an invalid request is refused, and the member is named', async t => {
    const { request } = payment()
    const changed = (change: object): CreateRequest => ({
      idempotenceKey: randomUUID(),
      body: JSON.stringify({ ...(JSON.parse(request.body) as object), ...change }),
    })
    for (const [name, change, parameter] of [
      ['an amount below the least', { amount: { value: '0.00', currency: 'RUB' } }, /amount/],
      ['an amount with three decimals', { amount: { value: '1.005', currency: 'RUB' } }, /amount/],
      ['an amount in words', { amount: { value: 'ten', currency: 'RUB' } }, /amount/],
      ['no amount', { amount: undefined }, /amount/],
    ] as const) {
      t.match(await failureOf(client.createPayment(changed(change))), { failure: 'refused', parameter }, name)
    }
  })

  await t.test('an unpaid payment cannot be refunded', async t => {
    const made = await client.createPayment(payment().request)
    const of = {
      id: randomUUID(),
      providerPaymentId: made.id,
      amountMicros: roubles(1),
      email: 'a@example.org',
    }
    const refund = { body: refundBody(of, settings), idempotenceKey: randomUUID() }
    t.match(await failureOf(client.createRefund(refund)), { failure: 'refused' })
    t.same(await client.refundsOf(made.id), [])
    t.same(await client.receiptsOf({ payment: made.id }), [], 'it has no receipt')
  })

  await t.test('an unknown id is not found', async t => {
    const id = randomUUID()
    for (const call of [client.payment(id), client.refund(id)]) {
      t.match(await failureOf(call), { failure: 'not_found' })
    }
  })

  await t.test('a wrong secret key is a failure of the credentials', async t => {
    t.match(await failureOf(unauthorised.payment(randomUUID())), { failure: 'credentials' })
    t.match(await failureOf(unauthorised.createPayment(payment().request)), { failure: 'credentials' })
  })
}

await t.test('the sandbox keeps the contract', async t => {
  const sandbox = await openSandbox(t)
  const client = clientOf(sandbox)
  const unauthorised = yookassaClient({
    name: 'yookassa',
    clock: systemClock,
    baseUrl: new URL(`${sandbox.origin}/v3`),
    shopId: '100500',
    secretKey: 'live_secret',
  })
  t.teardown(() => Promise.all([client.close(), unauthorised.close()]))
  await keepsContract(t, client, unauthorised)
})

const { YOOKASSA_SHOP_ID: shopId = '', YOOKASSA_SECRET_KEY: secretKey = '' } = process.env
const isTestShop = shopId !== '' && secretKey.startsWith('test_')

await t.test(
  'the API of YooKassa keeps the contract',
  { skip: isTestShop ? false : 'YOOKASSA_SHOP_ID and YOOKASSA_SECRET_KEY of a test shop are not set' },
  async t => {
    const shop = { name: 'yookassa', clock: systemClock, baseUrl: new URL('https://api.yookassa.ru/v3') }
    const client = yookassaClient({ ...shop, shopId, secretKey })
    const unauthorised = yookassaClient({ ...shop, shopId, secretKey: 'test_wrong' })
    t.teardown(() => Promise.all([client.close(), unauthorised.close()]))
    await keepsContract(t, client, unauthorised)
  },
)

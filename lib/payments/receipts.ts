import { newId } from '../new-id.ts'
import { RecordConflictError } from '../stores/records/records.ts'
import { ProviderError } from './payment-provider.ts'
import type { ProviderReceipt } from './payment-provider.ts'
import { receiptBody } from './payment-request.ts'
import type { Receipt } from './payment-rows.ts'
import { receiptSettings } from './payments.ts'
import type { PaymentContext } from './payments.ts'

const minute = 60_000
/** How often a receipt that failed is made anew before somebody has to look. */
const attemptsMax = 12

/** Fiscal receipts: asked after until they are registered, and made anew when they failed. */
export class Receipts {
  readonly #context: PaymentContext

  constructor(context: PaymentContext) {
    this.#context = context
  }

  /** Asks how a receipt stands, and acts by it. What cannot be found out now is asked again later. */
  async check(receipt: Receipt): Promise<void> {
    try {
      const found = await this.#find(receipt)
      if (found !== undefined) await this.#settle(receipt, found)
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error
      this.#context.log.warn({ error, receipt: receipt.id }, 'how a receipt stands could not be found out')
    }
  }

  async #find(receipt: Receipt): Promise<ProviderReceipt | undefined> {
    const { provider, rows } = this.#context
    if (receipt.provider_id !== null) return provider.receipt(receipt.provider_id)
    if (receipt.request !== null && receipt.idempotence_key !== null) {
      const { request: body, idempotence_key: idempotenceKey } = receipt
      return provider.createReceipt({ body, idempotenceKey })
    }
    // It came with its payment or refund, which tell its id.
    const object =
      receipt.refund_id === null
        ? { payment: (await rows.payment(receipt.payment_id))?.provider_id ?? '' }
        : { refund: (await rows.refund(receipt.refund_id))?.provider_id ?? '' }
    const type = receipt.refund_id === null ? 'payment' : 'refund'
    return (await provider.receiptsOf(object)).find(one => one.type === type)
  }

  async #settle(receipt: Receipt, found: ProviderReceipt): Promise<void> {
    const { rows, clock, log } = this.#context
    const now = clock.now()
    const failed = found.state === 'canceled'
    // What was read last: a lease changed when it is asked after next, and the number of attempts with it.
    const current = await rows.receipt(receipt.id)
    if (current === undefined || current.state === 'succeeded') return
    if (failed) log.error({ receipt: receipt.id, attempts: current.attempts }, 'a fiscal receipt failed')
    const change = failed
      ? await this.#again(current, now)
      : {
          state: found.state,
          provider_id: found.id,
          document_number: found.documentNumber ?? null,
          storage_number: found.storageNumber ?? null,
          attribute: found.attribute ?? null,
          ...(found.state === 'succeeded' ? { registered_at: now, next_poll_at: null } : {}),
        }
    try {
      await rows.write([rows.changeReceipt(current, change)])
    } catch (error) {
      if (!(error instanceof RecordConflictError)) throw error
      log.info({ receipt: receipt.id }, 'a receipt was settled by somebody else')
    }
  }

  /** The receipt as a request of its own, under a new key. */
  async #again(receipt: Receipt, now: number) {
    const { rows, settings } = this.#context
    const payment = await rows.payment(receipt.payment_id)
    const refund = receipt.refund_id === null ? undefined : await rows.refund(receipt.refund_id)
    const said = receiptSettings(settings(), receipt.created_at)
    const isLast = receipt.attempts >= attemptsMax || payment === undefined || said === undefined
    if (isLast) return { state: 'canceled', next_poll_at: null } as const
    const object =
      refund === undefined ? { payment: payment.provider_id ?? '' } : { refund: refund.provider_id ?? '' }
    const content = { email: payment.receipt_email, amountMicros: receipt.amount_micros }
    return {
      state: 'canceled',
      provider_id: null,
      request: receiptBody(receipt.kind, object, content, said),
      idempotence_key: newId(),
      requested_at: now,
      next_poll_at: now + minute * 2 ** Math.min(receipt.attempts, 8),
    } as const
  }
}

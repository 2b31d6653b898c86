import { newId } from '../platform/new-id.ts'
import { tryWrite } from '../stores/records/records.ts'
import { ProviderError, type ProviderReceipt } from './payment-provider.ts'
import type { Payment, Receipt } from './payment-reader.ts'
import { idempotenceMs, nextReceiptTryAt } from './payment-rules.ts'
import { receiptBody, receiptSettings } from './payment-request.ts'
import type { PaymentContext } from './payments.ts'

/** How long a receipt sent with its payment or refund may be unknown to the provider. */
const enclosedMs = 24 * 3_600_000

/** The payment or refund of a receipt, by the provider's id. */
type ReceiptObject = { readonly payment: string } | { readonly refund: string }

/** Fiscal receipts: polled until they are registered, and created again after a failure. */
export class Receipts {
  readonly #context: PaymentContext

  constructor(context: PaymentContext) {
    this.#context = context
  }

  /** Queries a receipt's state and applies it; after a failure it is polled again later. */
  async check({ id }: Pick<Receipt, 'id'>): Promise<void> {
    const { rows, log } = this.#context
    const receipt = await rows.receipt(id)
    if (receipt === undefined || receipt.next_poll_at === null) return
    try {
      const payment = await rows.payment(receipt.payment_id)
      const object = await this.#objectOf(receipt, payment)
      if (payment === undefined || object === undefined) return
      const found = await this.#find(receipt, object)
      if (found === 'failed') await this.#fail(receipt, payment, object)
      else if (found !== undefined) await this.#settle(receipt, payment, object, found)
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error
      log.warn({ error, receipt: receipt.id }, 'how a receipt stands could not be found out')
    }
  }

  async #objectOf(receipt: Receipt, payment: Payment | undefined): Promise<ReceiptObject | undefined> {
    if (receipt.refund_id === null) {
      const id = payment?.provider_id ?? undefined
      return id === undefined ? undefined : { payment: id }
    }
    const id = (await this.#context.rows.refund(receipt.refund_id))?.provider_id ?? undefined
    return id === undefined ? undefined : { refund: id }
  }

  /** The receipt at the provider; `failed` when it must be created again, undefined while that is unknown. */
  async #find(receipt: Receipt, object: ReceiptObject): Promise<ProviderReceipt | 'failed' | undefined> {
    const { provider, clock } = this.#context
    if (receipt.provider_id !== null) return provider.receipt(receipt.provider_id)
    const { request: body, idempotence_key: idempotenceKey } = receipt
    if (body === null || idempotenceKey === null) {
      const found = await this.#listed(receipt, object)
      return found ?? (clock.now() - receipt.created_at > enclosedMs ? 'failed' : undefined)
    }
    // Later the provider no longer knows the key, and the same body would create a second receipt.
    if (clock.now() - (receipt.requested_at ?? 0) > idempotenceMs)
      return (await this.#listed(receipt, object)) ?? 'failed'
    try {
      return await provider.createReceipt({ body, idempotenceKey })
    } catch (error) {
      const isRefused = error instanceof ProviderError && /^(?:refused|not_found)$/.test(error.failure)
      if (!isRefused) throw error
      this.#context.log.error({ error, receipt: receipt.id }, 'the payment provider refused a receipt')
      // The sandbox loses its payments when the process ends.
      if (provider.isTest && /^(?:payment|refund)_id$/.test(error.parameter ?? ''))
        return this.#forget(receipt)
      return 'failed'
    }
  }

  /**
   * The provider's receipt for the same object that no other row here has; a failed one only when there is no other.
   */
  async #listed(receipt: Receipt, object: ReceiptObject): Promise<ProviderReceipt | undefined> {
    const { provider, rows } = this.#context
    const type = 'refund' in object ? 'refund' : 'payment'
    let failed: ProviderReceipt | undefined
    for (const found of await provider.receiptsOf(object)) {
      const isSame = found.type === type && found.isOffset === (receipt.kind === 'offset')
      const isSameSum = (found.amountMicros ?? receipt.amount_micros) === receipt.amount_micros
      if (!isSame || !isSameSum || (await rows.hasReceipt(found.id))) continue
      if (found.state !== 'canceled') return found
      failed = found
    }
    return failed
  }

  async #settle(
    receipt: Receipt,
    payment: Payment,
    object: ReceiptObject,
    found: ProviderReceipt,
  ): Promise<void> {
    if (found.state === 'canceled') return this.#fail(receipt, payment, object)
    const { clock } = this.#context
    await this.#write(receipt, {
      state: found.state,
      provider_id: found.id,
      document_number: found.documentNumber ?? null,
      storage_number: found.storageNumber ?? null,
      attribute: found.attribute ?? null,
      ...(found.state === 'succeeded' ? { registered_at: clock.now(), next_poll_at: null } : {}),
    })
  }

  /** Creates it again as a separate request, under a new key, with the rates of its original time. */
  async #fail(receipt: Receipt, payment: Payment, object: ReceiptObject): Promise<void> {
    const { settings, clock, alarm } = this.#context
    const failures = receipt.attempts + 1
    alarm('receipt_failed', { receipt: receipt.id, kind: receipt.kind, payment: payment.id, failures })
    const now = clock.now()
    const said = receiptSettings(
      settings(),
      receipt.kind === 'offset' ? receipt.created_at : payment.created_at,
    )
    if (said === undefined) return this.#forget(receipt)
    const content = { email: payment.receipt_email, amountMicros: receipt.amount_micros }
    await this.#write(receipt, {
      state: 'canceled',
      provider_id: null,
      request:
        receipt.kind === 'offset' && receipt.request !== null
          ? receipt.request
          : receiptBody(receipt.kind, object, content, said),
      idempotence_key: newId(),
      requested_at: null,
      attempts: failures,
      next_poll_at: nextReceiptTryAt(now, failures),
    })
  }

  /** The payment or refund no longer exists, so the receipt cannot be made. */
  async #forget(receipt: Receipt): Promise<undefined> {
    await this.#write(receipt, { state: 'canceled', next_poll_at: null })
    return undefined
  }

  async #write(
    receipt: Receipt,
    change: Parameters<PaymentContext['rows']['changeReceipt']>[1],
  ): Promise<void> {
    const { rows, log } = this.#context
    if (!(await tryWrite(rows, [rows.changeReceipt(receipt, change)]))) {
      log.info({ receipt: receipt.id }, 'a receipt was settled by somebody else')
    }
  }
}

import type { Command } from 'commander'
import { PaymentReader, type Payment } from '../payments/payment-reader.ts'
import type { Reconciliation } from '../payments/payment-actions.ts'
import { formatRoubles } from '../money/amount.ts'
import { answer, answerList, addCommand, CommandError, countOf, formatTable, isoTime } from './command.ts'
import type { SharedOptions, CliContext } from './command.ts'
import { textLengthsMax } from '../administration/text-lengths.ts'
import { dayOf, oneOf, roubles, operatorName, reasonText, wholeNumber } from './arguments.ts'
import { changePayments, checkAccount, readRecords } from './with-store.ts'
import { zonedTime } from '../platform/clock.ts'
import { openTimeZone } from './open-config.ts'
import type { RecordReader } from '../stores/records/records.ts'

const states = ['created', 'pending', 'succeeded', 'canceled'] as const
const listMax = 1000

/** A payment as JSON; amounts in roubles, times in ISO 8601. */
function paymentJson(payment: Payment): object {
  return {
    id: payment.id,
    account: payment.account_id,
    amount: formatRoubles(payment.amount_micros),
    status: payment.state,
    method: payment.method,
    providerId: payment.provider_id,
    createdAt: new Date(payment.created_at).toISOString(),
    creditedAt: isoTime(payment.credited_at),
    refunded: formatRoubles(payment.refunded_micros),
    ...(payment.failure === null ? {} : { failure: payment.failure }),
    ...(payment.difference === null ? {} : { difference: payment.difference }),
  }
}

/** `payment`: creates, lists and refunds payments, and compares them with the provider's list. */
export function fillPayment(payment: Command, context: CliContext): void {
  addCreate(payment, context)
  addList(payment, context)
  addShow(payment, context)
  addRefund(payment, context)
  addReconcile(payment, context)
}

function addCreate(payment: Command, context: CliContext): void {
  interface Options extends SharedOptions {
    readonly account: string
    readonly rub: string
    readonly method?: string
  }
  addCommand(payment, 'create', 'make a payment link to send to a customer')
    .requiredOption('--account <id>', 'whose balance it tops up')
    .requiredOption('--rub <amount>', 'roubles, such as 1500.00')
    .option('--method <method>', 'bank_card or sbp; the customer chooses unless said')
    .action(async (options: Options) => {
      const { account: accountId } = options
      const amountMicros = roubles('--rub', options.rub)
      const method =
        options.method === undefined
          ? undefined
          : oneOf('--method', options.method, ['bank_card', 'sbp'] as const)
      const created = await changePayments(options, payments =>
        payments.createPayment({ accountId, amountMicros, method }),
      )
      answer(
        context.stdout,
        options,
        created,
        `payment ${created.id} is ${created.status}\n${created.confirmationUrl ?? ''}\n`,
      )
    })
}

/** Reads payments, whether or not a server runs. */
function readPayments<T>(
  options: SharedOptions,
  read: (payments: PaymentReader, records: RecordReader) => Promise<T>,
): Promise<T> {
  return readRecords(options, records => read(new PaymentReader(records), records))
}

function addList(payment: Command, { stdout }: CliContext): void {
  interface Options extends SharedOptions {
    readonly account?: string
    readonly state?: string
    readonly day?: string
  }
  addCommand(payment, 'list', `list payments, the newest first, at most ${listMax}`)
    .option('--account <id>', 'only of this account')
    .option('--state <state>', `only in this state: ${states.join(', ')}`)
    .option('--day <date>', 'only of this day, such as 2026-11-22')
    .action((options: Options) =>
      readPayments(options, async (reader, records) => {
        await checkAccount(records, options.account)
        const zone = openTimeZone(options)
        const day = options.day === undefined ? undefined : dayOf('--day', options.day, zone)
        const payments = await reader.payments({
          ...(options.account === undefined ? {} : { accountId: options.account }),
          ...(options.state === undefined ? {} : { state: oneOf('--state', options.state, states) }),
          ...(day === undefined ? {} : { createdFrom: day.from, createdUntil: day.until }),
          limit: listMax,
        })
        answerList(
          stdout,
          options,
          payments.map(paymentJson),
          payments.length === 0 ? 'no payments\n' : table(payments, zone),
        )
      }),
    )
}

function table(payments: readonly Payment[], zone: string): string {
  const rows = payments.map(payment => ({
    created: zonedTime(payment.created_at, zone),
    payment: payment.id,
    account: payment.account_id,
    method: payment.method ?? '',
    state: payment.difference === null ? payment.state : `${payment.state} (differs)`,
    roubles: formatRoubles(payment.amount_micros),
    refunded: formatRoubles(payment.refunded_micros),
  }))
  return formatTable(rows, ['roubles', 'refunded'])
}

function addShow(payment: Command, { stdout }: CliContext): void {
  addCommand(payment, 'show <payment>', 'show a payment').action((id: string, options: SharedOptions) =>
    readPayments(options, async reader => {
      const found = await reader.payment(id)
      if (found === undefined)
        throw new CommandError(`there is no payment ${id}: gateway payment list shows them`)
      if (options.json === true) stdout.write(`${JSON.stringify(paymentJson(found))}\n`)
      else
        for (const [name, value] of Object.entries(paymentJson(found)))
          stdout.write(`${name}: ${value ?? '-'}\n`)
    }),
  )
}

function addRefund(payment: Command, context: CliContext): void {
  interface Options extends SharedOptions {
    readonly rub: string
    readonly reason: string
  }
  addCommand(payment, 'refund <payment>', 'send money back that is not spent')
    .requiredOption('--rub <amount>', 'roubles, at most what of the payment is not spent')
    .requiredOption('--reason <text>', 'why; the customer sees it')
    .action(async (paymentId: string, options: Options) => {
      const amountMicros = roubles('--rub', options.rub)
      const reason = reasonText(options.reason, '--reason', textLengthsMax.refundReason)
      const refund = await changePayments(options, payments =>
        payments.refundPayment({ paymentId, amountMicros, reason, operator: operatorName() }),
      )
      const { id, status, amount } = refund
      if (options.json !== true) {
        context.stdout.write(`refund ${id} of ${amount} ₽ is ${status}\n`)
        return
      }
      const payment = await readPayments(options, reader => reader.payment(paymentId))
      const json = payment === undefined ? {} : paymentJson(payment)
      context.stdout.write(`${JSON.stringify({ ...json, refund: { id, status, amount } })}\n`)
    })
}

function addReconcile(payment: Command, context: CliContext): void {
  addCommand(payment, 'reconcile', "compare payments with the provider's list; what is paid is credited")
    .option('--days <number>', 'how many days back', '3')
    .action(async (options: SharedOptions & { readonly days: string }) => {
      const days = wholeNumber('--days', options.days, 1, 1095)
      const found = await changePayments(options, payments => payments.reconcilePayments({ days }))
      const { compared, settled, differences } = found
      const lines =
        options.json === true
          ? await readPayments(options, reader => reconciledJson(reader, found))
          : [
              `${countOf(compared, 'payment')} compared, ${settled.length} credited now`,
              ...differences.map(one => `${one.payment ?? one.providerId ?? ''}: ${one.difference}`),
            ]
      for (const line of lines) context.stdout.write(`${line}\n`)
      if (differences.length > 0)
        throw new CommandError(`${countOf(differences.length, 'difference')} to the provider's list`)
    })
}

/** A line for each payment that was now credited, and for each difference. */
async function reconciledJson(
  reader: PaymentReader,
  { settled, differences }: Reconciliation,
): Promise<readonly string[]> {
  const credited = await Promise.all(settled.map(id => reader.payment(id)))
  const different = await Promise.all(
    differences.map(async ({ payment: id, providerId, difference }) => {
      const payment = id === null ? undefined : await reader.payment(id)
      return payment === undefined ? { id, providerId, difference } : { ...paymentJson(payment), difference }
    }),
  )
  const lines = credited.flatMap(payment => (payment === undefined ? [] : [paymentJson(payment)]))
  return [...lines, ...different].map(line => JSON.stringify(line))
}

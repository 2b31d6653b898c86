import type { TaxRate } from '../companies/seller.ts'
import type { Micros } from '../money/amount.ts'
import { roundToKopecks, type Kopecks } from '../money/kopecks.ts'
import { readAmong, type RecordReader } from '../stores/records/records.ts'
import { moscowDay } from '../ledger/moscow-days.ts'
import { orderNumber, shortDay } from './print/printed-text.ts'

/**
 * The amount of a month's document: all charges up to its end, rounded once, less everything documented before. So
 * the documents never differ from the ledger by more than half a kopeck, over any number of months. Zero or less:
 * there is nothing to document, and the rest carries over to the next month.
 */
export function monthAmount(chargedUntilEnd: Micros, documentedBefore: Kopecks): Kopecks {
  return roundToKopecks(chargedUntilEnd) - documentedBefore
}

/** The value added tax included in an amount, rounded half up to the kopeck. */
export function vatWithin(amount: Kopecks, rate: TaxRate): Kopecks {
  if (rate === 'none') return 0
  return Math.floor((2 * amount * rate + 100 + rate) / (2 * (100 + rate)))
}

/** A change of an account's balance other than a charge, in chronological order. */
export interface MoneyMoved {
  /** `transfer:<id>:<revision>`, `payment:<id>`, `refund:<id>`, `credit:<key>`. */
  readonly id: string
  readonly at: number
  /** Negative for money that went out. */
  readonly amount: Kopecks
  /** A starting credit: granted, not paid. */
  readonly isGift: boolean
  /** For a refund, the money that it returns, if known. */
  readonly refundOf?: string
}

/** Money that came in, less what was returned of it. */
export interface Lot extends MoneyMoved {
  /** The amount that remains to be spent. */
  readonly net: Kopecks
}

/** The ids of a transfer's entries end in the number of its revision. */
function sourceOf(id: string): string {
  return id.startsWith('transfer:') ? id.slice(0, id.lastIndexOf(':')) : id
}

/** Money that came in and, by the id of each debit, the part of it that was granted rather than paid. */
interface BookedMoney {
  readonly lots: readonly Lot[]
  readonly refunded: ReadonlyMap<string, Kopecks>
}

/** Money that came in, the oldest first, less what was returned. */
export function lotsOf(moved: readonly MoneyMoved[]): readonly Lot[] {
  return bookMoney(moved).lots
}

/**
 * Money that came in, the oldest first. Each return reduces its source: a transfer's return the transfer, a refund
 * the payment. Other debits reduce the newest money, since only unspent money can be returned.
 */
export function bookMoney(moved: readonly MoneyMoved[]): BookedMoney {
  const lots: (MoneyMoved & { net: Kopecks })[] = []
  const refunded = new Map<string, Kopecks>()
  for (const one of moved) {
    if (one.amount > 0) {
      lots.push({ ...one, net: one.amount })
      continue
    }
    let left = -one.amount
    const own = lots.filter(lot => lot.id === one.refundOf || sourceOf(lot.id) === sourceOf(one.id))
    for (const lot of [...own.toReversed(), ...lots.toReversed()]) {
      const taken = Math.min(lot.net, left)
      lot.net -= taken
      left -= taken
      if (lot.isGift && taken > 0) refunded.set(one.id, (refunded.get(one.id) ?? 0) + taken)
    }
  }
  return { lots, refunded }
}

/** The part of each lot that was spent between two totals of charges: money is spent in the order it came in. */
export function spentBetween(
  lots: readonly Lot[],
  from: Kopecks,
  to: Kopecks,
): readonly { readonly lot: Lot; readonly amount: Kopecks }[] {
  let begin = 0
  return lots.flatMap(lot => {
    const end = begin + lot.net
    const amount = Math.min(end, to) - Math.max(begin, from)
    begin = end
    return amount > 0 ? [{ lot, amount }] : []
  })
}

/** Money in or out, with its name in documents. */
interface NamedMoney extends MoneyMoved {
  /** «Оплата (п/п № 42 от 11.11.2026)». */
  readonly name: string
  /** The day in Moscow according to the bank for transfers; else the day of the entry. */
  readonly day: string
  /** Paid, neither granted nor an adjustment. Money that a failed refund brings back was already paid before. */
  readonly isPayment: boolean
  /** The payment order, if there was one. */
  readonly order?: { readonly number: string; readonly date: string }
}

/** All changes of an account's balance before a time other than charges, the oldest first. */
export async function readMoney(
  records: RecordReader,
  accountId: string,
  before = Number.MAX_SAFE_INTEGER,
): Promise<readonly NamedMoney[]> {
  const entries = await records.all(
    records.build
      .selectFrom('entries')
      .select(['exchange_id', 'amount_micros', 'at', 'source', 'reason'])
      .where('account_id', '=', accountId)
      .where('kind', 'in', ['credit', 'debit'])
      .where('at', '<', before)
      .orderBy('at')
      .orderBy('exchange_id'),
  )
  const ids = entries.map(entry => entry.exchange_id)
  const orders = await readOrders(records, ids)
  const methods = await readMethods(records, ids)
  const refunds = await readRefunds(records, ids)
  let total: Micros = 0
  return entries.map(({ exchange_id: id, amount_micros: micros, at, source, reason }) => {
    const order = orders.get(transferOf(id))
    const refundOf = refunds.get(partOf(id, 'refund:'))
    // Operators may book fractions of a kopeck; rounding the running total keeps the sum equal to the balance.
    const amount = roundToKopecks(total + micros) - roundToKopecks(total)
    total += micros
    return {
      id,
      at,
      amount,
      isGift: source === 'starting',
      isPayment: source === 'payment' && amount > 0 && !id.startsWith('refund-canceled:'),
      day: order !== undefined && amount > 0 ? order.receivedOn : moscowDay(at),
      name: nameOf(id, {
        isIncoming: amount > 0,
        source,
        reason,
        order,
        method: methods.get(partOf(id, 'payment:')),
      }),
      ...(refundOf !== undefined && { refundOf }),
      ...(order !== undefined && { order: { number: order.number, date: order.date } }),
    }
  })
}

function partOf(id: string, prefix: string): string {
  return id.startsWith(prefix) ? id.slice(prefix.length) : ''
}

/** The id in `transfer:<id>:<revision>`. */
function transferOf(id: string): string {
  return partOf(id, 'transfer:').split(':')[0] ?? ''
}

interface Naming {
  readonly isIncoming: boolean
  readonly source: string | null
  readonly reason: string | null
  readonly order: NamedMoney['order']
  readonly method: 'bank_card' | 'sbp' | null | undefined
}

function nameOf(id: string, { isIncoming, source, reason, order, method }: Naming): string {
  if (source === 'starting') return 'Стартовый кредит'
  // The customer also sees the reason beside the balance.
  if (source !== 'payment') return reason === null ? 'Корректировка' : `Корректировка (${reason})`
  if (order !== undefined) {
    const shown = `п/п № ${orderNumber(order)} от ${shortDay(order.date)}`
    return isIncoming ? `Оплата (${shown})` : `Отмена зачисления (${shown})`
  }
  if (!isIncoming) return 'Возврат оплаты'
  if (method === 'bank_card') return 'Оплата банковской картой'
  if (method === 'sbp') return 'Оплата через СБП'
  return id.startsWith('refund-canceled:') ? 'Возврат оплаты отменён' : 'Оплата'
}

interface Order {
  readonly number: string
  readonly date: string
  readonly receivedOn: string
}

async function readOrders(
  records: RecordReader,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Order>> {
  const transfers = [...new Set(ids.map(transferOf))].filter(id => id !== '')
  const query = records.build.selectFrom('transfers').select(['id', 'number', 'date', 'received_on'])
  const rows = await readAmong(transfers, some => records.all(query.where('id', 'in', some)))
  return new Map(
    rows.map(({ id, number, date, received_on: receivedOn }) => [id, { number, date, receivedOn }]),
  )
}

async function readMethods(
  records: RecordReader,
  ids: readonly string[],
): Promise<ReadonlyMap<string, 'bank_card' | 'sbp' | null>> {
  const payments = ids.map(id => partOf(id, 'payment:')).filter(id => id !== '')
  const query = records.build.selectFrom('payments').select(['id', 'method'])
  const rows = await readAmong(payments, some => records.all(query.where('id', 'in', some)))
  return new Map(rows.map(({ id, method }) => [id, method]))
}

/** The ledger's ids of the refunded payments, by refund. */
async function readRefunds(
  records: RecordReader,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const refunds = ids.map(id => partOf(id, 'refund:')).filter(id => id !== '')
  const query = records.build.selectFrom('refunds').select(['id', 'payment_id'])
  const rows = await readAmong(refunds, some => records.all(query.where('id', 'in', some)))
  return new Map(rows.map(({ id, payment_id }) => [id, `payment:${payment_id}`]))
}

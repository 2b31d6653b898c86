import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import fc from 'fast-check'
import type { Test } from 'tap'
import { correctCharge } from '../../lib/administration/correct-charge.ts'
import type { Seller } from '../../lib/companies/seller.ts'
import { listClosing, correctClosing } from '../../lib/documents/closing-documents.ts'
import { setCompany } from '../../lib/documents/company-versions.ts'
import { createInvoice } from '../../lib/documents/invoices.ts'
import { undoTransfer, listTransfers } from '../../lib/documents/transfers.ts'
import { importStatement } from '../../lib/documents/import-statement.ts'
import { closeMonth } from '../../lib/documents/month-close.ts'
import { lastDay, shiftMonth } from '../../lib/ledger/moscow-days.ts'
import { buildPrice } from '../../lib/money/pricing.ts'
import type { PaymentService } from '../../lib/payments/payment-service.ts'
import type { Clock } from '../../lib/platform/clock.ts'
import type { PaymentSandbox } from '../../lib/sandbox/payments/payment-sandbox.ts'
import { encodeStatement, statementLines } from '../fixtures/bank-statement.ts'
import type { MadePayment } from '../fixtures/bank-statement.ts'
import { company, seller as plainSeller, soleProprietor } from '../fixtures/companies.ts'
import { openSandbox, openService } from '../fixtures/payment-shop.ts'
import { plainNode } from '../fixtures/process-environment.ts'
import { accountWith, chargeOf, holdOf } from './store-under-test.ts'
import type { StoreUnderTest } from './store-under-test.ts'

// `npm run test:documents` has fifty companies over three years.
const companyCount = Number(process.env['DOCUMENTS_COMPANIES'] ?? 4)
const monthCount = Number(process.env['DOCUMENTS_MONTHS'] ?? 6)
const seed = Number(process.env['DOCUMENTS_SEED'] ?? 20_261_122)

const firstMonth = '2023-10'
export const months = Array.from({ length: monthCount }, (_, index) => shiftMonth(firstMonth, index))

/** A seller whose tax changes: none first, and then each of the rates. */
export const seller: Seller = {
  ...plainSeller,
  tax: [
    { from: '2020-01-01', rate: 'none', basis: 'п. 2 ст. 346.11 НК РФ' },
    { from: '2023-12-01', rate: 5 },
    { from: '2024-02-01', rate: 7 },
    { from: '2024-03-01', rate: 22 },
  ],
}
const oddPrice = buildPrice({ model: 'm', rubPerMillion: { input: '1234.567' } })
const invoiceAmount = 1_000_001

const oneIn = (count: number) => fc.nat(count - 1).map(one => one === 0)

/** A company's activity in a month. */
const monthPlan = fc.record({
  tokens: fc.array(fc.integer({ min: 1, max: 3_000_000 }), { maxLength: 4 }),
  /** The part of an invoice that is paid by transfer. */
  paidPercent: fc.constantFrom(0, 50, 100, 130),
  cardRub: fc.constantFrom(0, 0, 100, 543.21),
  isRefunded: oneIn(2),
  isMoved: oneIn(10),
  isUndone: oneIn(10),
  isCharged: oneIn(8),
  isReissued: oneIn(8),
})
const plans = fc.sample(
  fc.array(fc.array(monthPlan, { minLength: monthCount, maxLength: monthCount }), {
    minLength: companyCount,
    maxLength: companyCount,
  }),
  { numRuns: 1, seed },
)[0]!

export const noon = (day: string): number => Date.parse(`${day}T12:00:00+03:00`)
/** The time of closing a month: on the first day after it. */
export const closedAt = (month: string): number => noon(`${shiftMonth(month, 1)}-01`)

/** How often each event happened. */
export type Counts = Record<
  'charges' | 'corrections' | 'cards' | 'refunds' | 'transfers' | 'undone' | 'moves' | 'reissued' | 'killed',
  number
>

/** Companies, and everything that was done with them. */
export interface World {
  readonly store: StoreUnderTest
  readonly sandbox: PaymentSandbox
  readonly clock: Clock
  readonly accounts: readonly string[]
  /** Micro-roubles charged to each account less those that corrections refunded, by month. */
  readonly charged: ReadonlyMap<string, Map<string, number>>
  /** The last request of each account, and its cost. */
  readonly requests: Map<string, { readonly id: string; readonly micros: number }>
  readonly counts: Counts
}

const weights = [3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8]

/** The digits followed by the tax service's check digit. */
function checked(digits: string): string {
  const own = weights.slice(weights.length - digits.length)
  const sum = [...digits].reduce((all, digit, index) => all + Number(digit) * (own[index] ?? 0), 0)
  return `${digits}${(sum % 11) % 10}`
}

/** Every third company is a sole proprietor. */
function detailsOf(index: number) {
  const digits = String(index).padStart(5, '0')
  return index % 3 === 0
    ? { ...soleProprietor, inn: checked(checked(`50010${digits}`)) }
    : { ...company, inn: checked(`7736${digits}`), name: `ООО «Ромашка ${index}»` }
}

/** Opens accounts of companies on a store. */
export async function beginYears(t: Test, store: StoreUnderTest, clock: Clock): Promise<World> {
  const accounts: string[] = []
  for (const index of plans.keys()) {
    const id = await accountWith(store, 1_000_000)
    await setCompany(await store.records(), id, detailsOf(index), noon(`${firstMonth}-01`))
    accounts.push(id)
  }
  const counts = { charges: 0, corrections: 0, cards: 0, refunds: 0, transfers: 0, undone: 0, moves: 0 }
  return {
    store,
    clock,
    sandbox: await openSandbox(t, clock),
    accounts,
    charged: new Map(accounts.map(id => [id, new Map<string, number>()])),
    requests: new Map(),
    counts: { ...counts, reissued: 0, killed: 0 },
  }
}

function addCharged({ charged }: World, accountId: string, month: string, micros: number): void {
  const byMonth = charged.get(accountId)
  byMonth?.set(month, (byMonth.get(month) ?? 0) + micros)
}

/** Charges of a month, and a correction of one of an earlier month. */
async function spend(world: World, accountId: string, month: string, index: number): Promise<void> {
  const { store, counts, requests, clock } = world
  const plan = plans[index]?.[months.indexOf(month)]
  const earlier = requests.get(accountId)
  if (plan?.isCharged === true && earlier !== undefined) {
    requests.delete(accountId)
    const costMicros = Math.floor(earlier.micros / 3)
    const about = {
      accountId,
      requestId: earlier.id,
      sequence: 0,
      reason: 'an empty answer',
      operator: 'olga',
    }
    const { returnedMicros } = await correctCharge(
      await store.records(),
      { ...about, costMicros },
      clock.now(),
    )
    addCharged(world, accountId, month, -returnedMicros)
    counts.corrections += 1
  }
  for (const tokens of plan?.tokens ?? []) {
    const hold = await holdOf(store, accountId, 5000)
    const lines = [{ usage: { meters: { input: tokens } }, price: oddPrice }]
    const { amountMicros } = await store.ledger.charge(hold, chargeOf({}, { lines }))
    addCharged(world, accountId, month, amountMicros)
    requests.set(accountId, { id: hold.exchangeId, micros: amountMicros })
    counts.charges += 1
  }
}

/** A payment by card at the sandbox's shop, and its partial refund. */
async function payByCard(
  { sandbox, counts }: World,
  service: PaymentService,
  accountId: string,
  { rub, isRefunded }: { readonly rub: number; readonly isRefunded: boolean },
): Promise<void> {
  const amountMicros = Math.round(rub * 100) * 10_000
  const who = { accountId, email: 'a@b.ru', language: 'ru', origin: 'customer', savesCard: false } as const
  const payment = await service.payments.create({ ...who, amountMicros, method: 'bank_card' })
  const there = sandbox.shop.payment(payment.provider_id ?? '')
  if (there === undefined) throw new Error('the shop has no such payment')
  sandbox.shop.pay(there, 'bank_card')
  await service.payments.check(payment)
  counts.cards += 1
  if (!isRefunded) return
  const { state } = await service.refunds.create({
    paymentId: payment.id,
    amountMicros: 12_340_000,
    reason: 'on request',
  })
  if (state !== 'succeeded') throw new Error(`the refund is ${state}`)
  counts.refunds += 1
}

/** One month of all companies: charges, cards, invoices, transfers of too little or too much, changes of address. */
export async function liveMonth(t: Test, world: World, month: string): Promise<void> {
  const { store, accounts, sandbox, clock, counts } = world
  const records = await store.records()
  const service = await openService(t, store, sandbox, clock)
  const payments: MadePayment[] = []
  for (const [index, accountId] of accounts.entries()) {
    const plan = plans[index]?.[months.indexOf(month)]
    if (plan === undefined) continue
    await spend(world, accountId, month, index)
    if (plan.cardRub > 0) {
      await payByCard(world, service, accountId, { rub: plan.cardRub, isRefunded: plan.isRefunded })
    }
    const details = detailsOf(index)
    if (plan.isMoved) {
      await setCompany(records, accountId, { ...details, address: `г. Тверь, ${month}` }, noon(`${month}-20`))
      counts.moves += 1
    }
    if (plan.paidPercent === 0) continue
    const at = noon(`${month}-10`)
    const { document } = await createInvoice(records, seller, { accountId, amount: invoiceAmount, at })
    const amount = Math.round((invoiceAmount * plan.paidPercent) / 100)
    const purpose = `сч ${document.number} от 10.${month.slice(5)}.${month.slice(0, 4)}`
    payments.push({ number: String(index + 1), date: `${month}-15`, amount, inn: details.inn, purpose })
  }
  await service.close()
  await bank(world, month, payments)
}

/** Imports the month's statement twice, and reverses some transfers. */
async function bank(world: World, month: string, payments: readonly MadePayment[]): Promise<void> {
  const { store, accounts, counts } = world
  const records = await store.records()
  const period = { from: `${month}-01`, to: lastDay(month) }
  const lines = statementLines({ account: seller.bank.account, payments, ...period })
  const bytes = encodeStatement(lines.join('\r\n'), 'windows-1251')
  const at = noon(lastDay(month))
  const { credited } = await importStatement(records, seller, { bytes, at, isDryRun: false })
  const again = await importStatement(records, seller, { bytes, at, isDryRun: false })
  if (credited.length !== payments.length || again.repeated !== payments.length)
    throw new Error(`${credited.length} and ${again.repeated} of ${payments.length} payments`)
  counts.transfers += credited.length
  for (const transfer of await listTransfers(records, 'credited')) {
    const plan = plans[accounts.indexOf(transfer.account_id ?? '')]?.[months.indexOf(month)]
    if (!transfer.date.startsWith(month) || plan?.isUndone !== true) continue
    await undoTransfer(records, { id: transfer.id, note: 'чужое', at })
    counts.undone += 1
  }
}

/** Issues corrected documents of a closed month. */
export async function reissue({ store, accounts, counts }: World, month: string): Promise<void> {
  const records = await store.records()
  for (const { id, accountId, document } of await listClosing(records, { month })) {
    if (plans[accounts.indexOf(accountId)]?.[months.indexOf(month)]?.isReissued !== true) continue
    if (document.correction !== undefined) continue
    await correctClosing(records, seller, { id, reason: 'Уточнён адрес', at: closedAt(month) })
    counts.reissued += 1
  }
}

/** Closes a month on all nodes at once. */
export async function closeAtOnce(t: Test, nodes: readonly StoreUnderTest[], month: string): Promise<void> {
  const records = await Promise.all(nodes.map(node => node.records()))
  const made = await Promise.all(records.map(one => closeMonth(one, seller, { month, at: closedAt(month) })))
  const ids = made.flatMap(one => one.made.map(stored => stored.id))
  t.equal(new Set(ids).size, ids.length, `${month}: no document was made twice`)
}

/** How many documents a killed close has written. */
export const stopBehind = (index: number): number =>
  1 + ((index * 7) % Math.max(1, Math.floor(companyCount * 0.4)))

/**
 * Has a node of its own close a month, and kills it by SIGKILL at one of its lines: `begin 3` while it writes the third
 * document, `end 3` after it. Returns the lines that it printed.
 */
export async function killWhileClosing(
  config: string,
  { month, line, stop }: { readonly month: string; readonly line: string; readonly stop: number },
): Promise<readonly string[]> {
  const script = join(import.meta.dirname, '../fixtures/closing-node.ts')
  const words = [script, config, month, String(closedAt(month)), String(stop)]
  const child = spawn('env', [...plainNode, ...words], { stdio: ['ignore', 'pipe', 'inherit'] })
  const said: string[] = []
  createInterface(child.stdout).on('line', one => {
    said.push(one)
    if (one === line) child.kill('SIGKILL')
  })
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
  if (signal !== 'SIGKILL') throw new Error(`the node ended by ${code} after ${said.join(', ')}`)
  return said
}

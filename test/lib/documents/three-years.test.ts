import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import type { Test } from 'tap'
import { roundToKopecks } from '../../../lib/money/kopecks.ts'
import { buildPrice } from '../../../lib/money/build-price.ts'
import type { Seller } from '../../../lib/companies/seller.ts'
import { listClosing } from '../../../lib/documents/closing-documents.ts'
import { correctClosing } from '../../../lib/documents/correct-closing.ts'
import { setCompany } from '../../../lib/documents/company-book.ts'
import { createInvoice } from '../../../lib/documents/create-invoice.ts'
import { closeMonth } from '../../../lib/documents/month-close.ts'
import type { StoredClosing } from '../../../lib/documents/closing-rows.ts'
import { lastDay, shiftMonth } from '../../../lib/documents/moscow-days.ts'
import { importStatement } from '../../../lib/documents/import-statement.ts'
import { writeUpd } from '../../../lib/documents/upd-xml.ts'
import { accountWith, chargeOf, holdOf } from '../../contracts/store-under-test.ts'
import type { StoreUnderTest } from '../../contracts/store-under-test.ts'
import { runGateway, writeConfig } from '../../cli/run-gateway.ts'
import { encodeStatement, statementLines } from '../../fixtures/bank-statement.ts'
import { updProblems } from '../../fixtures/check-upd.ts'
import { company, seller as plainSeller, sellerYaml, soleProprietor } from '../../fixtures/companies.ts'
import { startPostgres } from '../../fixtures/postgres-server.ts'
import { openFile } from '../stores/open-store.ts'
import { openNode } from '../stores/open-postgres.ts'

// `npm run test:documents` has fifty companies and three years.
const companyCount = Number(process.env['DOCUMENTS_COMPANIES'] ?? 4)
const monthCount = Number(process.env['DOCUMENTS_MONTHS'] ?? 6)
const seed = Number(process.env['DOCUMENTS_SEED'] ?? 20_261_122)

const firstMonth = '2023-10'
const months = Array.from({ length: monthCount }, (_, index) => shiftMonth(firstMonth, index))
const seller: Seller = {
  ...plainSeller,
  tax: [
    { from: '2020-01-01', rate: 'none', basis: 'п. 2 ст. 346.11 НК РФ' },
    { from: '2023-12-01', rate: 5 },
    { from: '2024-02-01', rate: 7 },
    { from: '2024-09-01', rate: 22 },
  ],
}
const oddPrice = buildPrice({ model: 'm', rubPerMillion: { input: '1234.567' } })

/** What a company does in a month. */
const monthPlan = fc.record({
  tokens: fc.array(fc.integer({ min: 1, max: 3_000_000 }), { maxLength: 4 }),
  paidPercent: fc.constantFrom(0, 50, 100, 130),
  isMoved: fc.nat(9).map(one => one === 0),
})
const plans = fc.sample(
  fc.array(fc.array(monthPlan, { minLength: monthCount, maxLength: monthCount }), {
    minLength: companyCount,
    maxLength: companyCount,
  }),
  { numRuns: 1, seed },
)[0]!

const noon = (day: string): number => Date.parse(`${day}T12:00:00+03:00`)

interface World {
  readonly store: StoreUnderTest
  readonly accounts: readonly string[]
  /** Micro-roubles that each account was charged, by month. */
  readonly charged: ReadonlyMap<string, Map<string, number>>
}

async function begin(store: StoreUnderTest): Promise<World> {
  const accounts: string[] = []
  for (const index of plans.keys()) {
    const id = await accountWith(store, 1_000_000)
    const details = index % 3 === 0 ? soleProprietor : { ...company, name: `ООО «Ромашка ${index}»` }
    await setCompany(await store.records(), id, details, noon(`${firstMonth}-01`))
    accounts.push(id)
  }
  return { store, accounts, charged: new Map(accounts.map(id => [id, new Map<string, number>()])) }
}

/** One month of everybody: charges, an invoice, its payment in part or too much, a change of address. */
async function live({ store, accounts, charged }: World, month: string): Promise<void> {
  const records = await store.records()
  const payments: Parameters<typeof statementLines>[0]['payments'][number][] = []
  for (const [index, accountId] of accounts.entries()) {
    const plan = plans[index]?.[months.indexOf(month)]
    if (plan === undefined) continue
    for (const tokens of plan.tokens) {
      const hold = await holdOf(store, accountId, 5000)
      const lines = [{ usage: { meters: { input: tokens } }, price: oddPrice }]
      const { amountMicros } = await store.ledger.charge(hold, chargeOf({}, { lines }))
      const byMonth = charged.get(accountId)
      byMonth?.set(month, (byMonth.get(month) ?? 0) + amountMicros)
    }
    const details = index % 3 === 0 ? soleProprietor : { ...company, name: `ООО «Ромашка ${index}»` }
    if (plan.isMoved)
      await setCompany(records, accountId, { ...details, address: `г. Тверь, ${month}` }, noon(`${month}-20`))
    if (plan.paidPercent === 0) continue
    const invoice = await createInvoice(records, seller, {
      accountId,
      amount: 1_000_001,
      at: noon(`${month}-10`),
    })
    const amount = Math.round((1_000_001 * plan.paidPercent) / 100)
    const purpose = `сч ${invoice.document.number} от ${month.slice(5)}.${month.slice(0, 4)}`
    payments.push({ number: String(index + 1), date: `${month}-15`, amount, inn: details.inn, purpose })
  }
  const period = { from: `${month}-01`, to: lastDay(month) }
  const lines = statementLines({ account: seller.bank.account, payments, ...period })
  const bytes = encodeStatement(lines.join('\r\n'), 'windows-1251')
  const at = noon(lastDay(month))
  await importStatement(records, seller, { bytes, at, isDryRun: false })
  const again = await importStatement(records, seller, { bytes, at, isDryRun: false })
  if (again.repeated !== payments.length)
    throw new Error(`${again.repeated} of ${payments.length} payments were known`)
}

/** What must hold of the documents of all months up to the last. */
async function check(t: Test, { store, accounts, charged }: World): Promise<void> {
  const all = await listClosing(await store.records())
  const issued = all.filter(one => one.document.correction === undefined)
  for (const accountId of accounts) {
    let micros = 0
    let documented = 0
    for (const month of months) {
      micros += charged.get(accountId)?.get(month) ?? 0
      const own = issued.filter(one => one.accountId === accountId && one.month === month)
      documented += own.reduce((sum, one) => sum + one.document.amount, 0)
      if (own.length > 1 || documented !== roundToKopecks(micros))
        t.fail(`${accountId} in ${month}: ${documented} of ${micros}`)
    }
  }
  for (const year of new Set(issued.map(one => one.month.slice(0, 4)))) {
    const numbers = issued.filter(one => one.month.startsWith(year)).map(one => Number(one.document.number))
    t.strictSame(
      numbers.toSorted((a, b) => a - b),
      numbers.map((_, index) => index + 1),
      `${numbers.length} numbers of ${year} have neither gap nor double`,
    )
  }
  t.ok(
    issued.every(
      one => one.document.tax.rate === seller.tax.findLast(tax => tax.from <= one.document.date)?.rate,
    ),
  )
  for (let first = 0; first < all.length; first += 100) {
    t.strictSame(await updProblems(all.slice(first, first + 100).map(one => writeUpd(one.document))), [])
  }
  t.strictSame(await store.verify(), [])
}

/** A correction keeps number and sum; closing again changes nothing. */
async function checkThatNothingChanges(t: Test, world: World): Promise<void> {
  const records = await world.store.records()
  const last = months.at(-1) ?? firstMonth
  const before = await listClosing(records)
  const close = () => closeMonth(records, seller, { month: last, at: noon(lastDay(last)) })

  t.match(await close(), { months: [], made: [] })
  t.strictSame(await listClosing(records), before)
  const [one] = before as [StoredClosing]
  await correctClosing(records, seller, { id: one.id, reason: 'Уточнён адрес', at: noon(lastDay(last)) })
  t.match(await close(), { months: [], made: [] })
  t.equal((await listClosing(records)).length, before.length + 1)
}

await t.test('on SQLite, with closes that are killed in the middle', async t => {
  const folder = t.testdir()
  const { config, store: file } = writeConfig(folder, sellerYaml(seller))
  let now = 0
  const clock = { now: () => now }
  let store = await openFile(t, file, { clock })
  let world = await begin(store)
  for (const [index, month] of months.entries()) {
    now = noon(`${month}-05`)
    await live(world, month)
    if (index % 3 !== 2 && index !== months.length - 1) continue
    await store.close()
    const words = ['documents', 'close', '--month', month, '--config', config]
    // Whoever takes longer is killed by SIGKILL: before, in and after the writing of documents.
    for (const timeout of [400, 700, 1000, 1500]) await runGateway(words, { timeout })
    const { code, stderr } = await runGateway(words)
    t.equal(code, 0, stderr)
    store = await openFile(t, file, { clock })
    world = { ...world, store }
  }

  await check(t, world)
  await checkThatNothingChanges(t, world)
  writeFileSync(join(folder, 'seed'), String(seed))
})

await t.test('on PostgreSQL, with two nodes that close at once', async t => {
  const server = await startPostgres(t)
  const url = await server.createDatabase()
  let now = 0
  const clock = { now: () => now }
  const world = await begin(await openNode(t, url, { clock }))
  const other = await openNode(t, url, { clock })
  const nodes = [await world.store.records(), await other.records()]
  for (const month of months) {
    now = noon(`${month}-05`)
    await live(world, month)
    await Promise.all(nodes.map(records => closeMonth(records, seller, { month, at: noon(lastDay(month)) })))
  }

  await check(t, world)
  await checkThatNothingChanges(t, world)
})

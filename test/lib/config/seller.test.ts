import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { taxOn } from '../../../lib/companies/seller.ts'
import { formatProblem } from '../../../lib/config/config-error.ts'
import { loadFiles, problemsOf } from './config-files.ts'

const lines = {
  name: 'name: ООО «Шлюз»',
  inn: 'inn: "7707083893"',
  kpp: 'kpp: "773601001"',
  ogrn: 'ogrn: "1027700132195"',
  address: 'address: г. Москва, ул. Вавилова, д. 19',
  bank:
    'bank: { name: ПАО Сбербанк, bic: "044525225", account: "40702810200000000001", ' +
    'correspondentAccount: "30101810400000000225" }',
  signer: 'signer: { name: Петров Пётр Петрович, position: Генеральный директор }',
  tax: 'tax: [{ from: 2026-01-01, rate: none, basis: п. 2 ст. 346.11 НК РФ }]',
}

function yaml(change: Readonly<Record<string, string>> = {}): string {
  return `seller:\n${Object.values({ ...lines, ...change })
    .filter(line => line !== '')
    .map(line => `  ${line}\n`)
    .join('')}`
}

await t.test('a seller is read, with the tax rate of each date', async t => {
  const { config } = loadFiles(t.testdir(), {
    'gateway.yaml': yaml({
      tax: 'tax: [{ from: 2026-07-01, rate: 5 }, { from: 2026-01-01, rate: none, basis: п. 2 ст. 346.11 НК РФ }]',
    }),
  })

  const { seller } = config
  t.match(seller, { kind: 'company', name: 'ООО «Шлюз»', inn: '7707083893', payWithinDays: 5 })
  t.equal(taxOn(seller!.tax, '2025-12-31'), undefined)
  t.equal(taxOn(seller!.tax, '2026-06-30')?.rate, 'none')
  t.equal(taxOn(seller!.tax, '2026-07-01')?.rate, 5)
})

await t.test('a sole proprietor sells without KPP', async t => {
  const { config } = loadFiles(t.testdir(), {
    'gateway.yaml': yaml({
      name: 'name: ИП Иванов Иван Иванович',
      inn: 'inn: "500100732259"',
      kpp: '',
      ogrn: 'ogrn: "304500116000157"',
    }),
  })

  t.match(config.seller, { kind: 'sole', name: 'ИП Иванов Иван Иванович' })
})

await t.test('values that no document can contain are refused with their paths', async t => {
  const cases: readonly (readonly [Readonly<Record<string, string>>, string, RegExp])[] = [
    [{ inn: 'inn: "7707083890"' }, 'seller.inn', /has 0 as digit 10, .* must be 3/],
    [{ inn: 'inn: 7707083893' }, 'seller.inn', /in quotes/],
    [{ kpp: '' }, 'seller.kpp', /is missing/],
    [{ ogrn: '' }, 'seller.ogrn', /is missing/],
    [{ name: 'name: ""' }, 'seller.name', /is missing/],
    [{ bank: lines.bank.replace('40702810', '4070281O') }, 'seller.bank.account', /has "O" in place 8/],
    [{ bank: lines.bank.replace('0225"', '0226"') }, 'seller.bank.correspondentAccount', /has 4 as digit 9/],
    [
      { bank: 'bank: { name: "", bic: "", account: "", correspondentAccount: "" }' },
      'seller.bank.name',
      /missing/,
    ],
    [{ name: `name: ООО «${'Шлюз'.repeat(60)}»` }, 'seller.name', /bytes too long for the payment code/],
    [{ signer: 'signer: { name: Петров, position: Директор }' }, 'seller.signer.name', /surname, name/],
    [{ tax: 'tax: []' }, 'seller.tax', /./],
    [{ tax: 'tax: [{ from: 2026-01-01, rate: 20 }]' }, 'seller.tax[0].rate', /none, 5, 7 or 22/],
    [{ tax: 'tax: [{ from: 2026-01-01, rate: none }]' }, 'seller.tax[0].basis', /is missing/],
    [{ tax: 'tax: [{ from: 2026-01-01, rate: 5, basis: так }]' }, 'seller.tax[0].basis', /must be absent/],
    [{ tax: 'tax: [{ from: 2026-01-15, rate: 5 }]' }, 'seller.tax[0].from', /first day of a month/],
    [
      { tax: 'tax: [{ from: 2026-01-01, rate: 5 }, { from: 2026-01-01, rate: 7 }]' },
      'seller.tax[1].from',
      /there twice/,
    ],
    [{ extra: 'facsimile: no.png' }, 'seller.facsimile', /there is no file/],
    [{ extra: 'facsimile: loop.png' }, 'seller.facsimile', /loop\.png cannot be read: ELOOP/],
    [{ extra: 'facsimile: gateway.yaml' }, 'seller.facsimile', /neither a PNG nor a JPEG/],
    [{ extra: 'acountant: Петрова' }, 'seller.acountant', /unknown key/],
  ]
  for (const [change, path, message] of cases) {
    const found = problemsOf(t.testdir({ 'loop.png': t.fixture('symlink', 'loop.png') }), {
      'gateway.yaml': yaml(change),
    })
    t.ok(
      found.some(problem => problem.path === path && message.test(problem.message)),
      `${path}: ${found.map(formatProblem).join('\n')}`,
    )
  }
})

await t.test('an account that does not match its bank causes only a notice', async t => {
  // Only a notice: the operator may know better.
  const bank = lines.bank.replace('40702810200000000001', '40702810900000000002')

  const { notices } = loadFiles(t.testdir(), { 'gateway.yaml': yaml({ bank }) })

  t.match(notices, [/^seller\.bank\.account has 9 as digit 9, which checks the others and must be 5/])
})

await t.test('an image of the signature is found beside the file that names it', async t => {
  const folder = t.testdir()
  const image = Buffer.from('89504e470d0a1a0a000049454e44ae426082', 'hex')
  writeFileSync(join(folder, 'sign.png'), image)

  const { config } = loadFiles(folder, { 'gateway.yaml': yaml({ extra: 'facsimile: sign.png' }) })

  t.equal(config.seller?.facsimile, `data:image/png;base64,${image.toString('base64')}`)
  for (const [bytes, message] of [
    [image.subarray(0, -4), /is cut off/],
    [Buffer.alloc(512 * 1024 + 1), /at most 524288 are kept/],
  ] as const) {
    writeFileSync(join(folder, 'sign.png'), bytes)
    t.match(problemsOf(folder, { 'gateway.yaml': yaml({ extra: 'facsimile: sign.png' }) }), [
      { path: 'seller.facsimile', message },
    ])
  }
})

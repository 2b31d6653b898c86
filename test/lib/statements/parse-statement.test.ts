import fc from 'fast-check'
import t from 'tap'
import { decodeStatement, statementBytesMax } from '../../../lib/statements/statement.ts'
import { incomingPayments } from '../../../lib/statements/incoming-payments.ts'
import { parseStatement } from '../../../lib/statements/parse-statement.ts'
import { encodeStatement, statementLines } from '../../fixtures/bank-statement.ts'
import type { MadePayment } from '../../fixtures/bank-statement.ts'

const account = '40702810200000000001'
const payments: readonly MadePayment[] = [
  {
    number: '42',
    amount: 4_000_000,
    date: '2026-11-11',
    purpose: 'Оплата по счету № 1234 от 09.11.2026. НДС не облагается',
  },
  { number: '43', amount: 105, date: '2026-11-12', inn: '500100732259', name: 'ИП Кузнецов Олег Игоревич' },
  { number: '7', amount: 1_000, date: '2026-11-12', isOutgoing: true },
]

function read(lines: readonly string[], of = account) {
  return incomingPayments(parseStatement(lines.join('\r\n')), of)
}

/** The lines of the statement with one line replaced; an empty replacement deletes it. */
function changed(find: string, replace: string): string[] {
  const lines = statementLines({ account, payments, opening: 50_000 })
  const index = lines.indexOf(find)
  if (index === -1) throw new Error(`there is no line ${find}`)
  return lines.toSpliced(index, 1, ...(replace === '' ? [] : [replace]))
}

await t.test('incoming payments are read from a statement in every version of the format', async t => {
  for (const version of ['1.01', '1.02', '1.03']) {
    const found = read(statementLines({ account, payments, version }))

    t.match(found, [
      {
        number: '42',
        date: '2026-11-11',
        receivedOn: '2026-11-11',
        amount: 4_000_000,
        payer: {
          inn: '7736207543',
          name: 'ООО «Ромашка»',
          account: '40702810500000000002',
          bic: '044525225',
        },
        purpose: 'Оплата по счету № 1234 от 09.11.2026. НДС не облагается',
      },
      { number: '43', amount: 105, payer: { inn: '500100732259' } },
    ])
    t.equal(found.length, 2)
  }
})

await t.test(
  'older files are read: INN in the name, another key of the account, purpose in parts',
  async t => {
    const lines = changed('ПлательщикИНН=500100732259', 'ПлательщикРасчСчет=40702810500000000002')
      .filter(
        line => !line.startsWith('Плательщик1=') && !line.startsWith('ПлательщикСчет=40702810500000000002'),
      )
      .flatMap(line =>
        line === 'НазначениеПлатежа=Оплата'
          ? ['НазначениеПлатежа1=Оплата по', 'НазначениеПлатежа2=счету 7']
          : [line],
      )
      .map(line =>
        line.replace('Плательщик=ИНН 500100732259 ИП', 'Плательщик=ИНН 500100732259 КПП 000000000 ИП'),
      )

    t.match(read(lines)[1], {
      payer: { inn: '500100732259', name: 'ИП Кузнецов Олег Игоревич' },
      purpose: 'Оплата по счету 7',
    })
  },
)

await t.test('the charset is detected from the bytes, whatever the head declares', async t => {
  for (const encoding of ['utf-8', 'utf-8-bom', 'windows-1251', 'ibm866'] as const) {
    for (const declared of ['Windows', 'DOS']) {
      const text = statementLines({
        account,
        payments: [{ amount: 5, name: 'Ёлка' }],
        encoding: declared,
      }).join('\r\n')

      const decoded = decodeStatement(encodeStatement(text, encoding))

      t.equal(read(decoded.split('\r\n'))[0]?.payer.name, 'Ёлка', `${encoding} that declares ${declared}`)
    }
  }
})

await t.test('a file that is no statement, or is in another charset, is refused', async t => {
  t.throws(() => decodeStatement(Buffer.from('%PDF-1.7')), /line 1: is no bank statement/)
  t.throws(() => decodeStatement(Buffer.alloc(0)), /line 1: is no bank statement/)
  t.throws(() => decodeStatement(Buffer.from('\ufeff1CClient', 'utf16le')), /UTF-16/)
  t.throws(
    () => decodeStatement(Buffer.from('1CClientBankExchange\r\n\xf7\xc5\xd2\xd3\xc9\xd1=1.03', 'latin1')),
    /ВерсияФормата cannot be read/,
    'KOI8-R',
  )
  const broken = Buffer.concat([
    encodeStatement('1CClientBankExchange\nВерсияФормата=1.03\n\n', 'utf-8'),
    Buffer.from([0xd0, 0x41]),
  ])
  t.throws(() => decodeStatement(broken), /line 4: the statement begins in utf-8 and goes on/)
  t.throws(() => decodeStatement(Buffer.alloc(statementBytesMax + 1)), /at most 32 MB .* shorter period/)
})

await t.test('the error of a wrong statement names the line', async t => {
  const cases: readonly (readonly [string, string, RegExp])[] = [
    ['КонецФайла', '', /line 62: КонецФайла is missing: the file is cut off/],
    ['КонецРасчСчет', '', /line 17: begins a section within the one of line 9/],
    [
      'ВерсияФормата=1.03',
      'ВерсияФормата=2.00',
      /line 2: has the version 2\.00; 1\.01, 1\.02, 1\.03 are known/,
    ],
    ['ВерсияФормата=1.03', '', /line 1: ВерсияФормата is missing/],
    ['Сумма=1.05', 'Сумма=1.055', /line 36: Сумма is "1\.055", and must be roubles/],
    ['Сумма=1.05', 'Сумма=-1.05', /line 33: Сумма must be more than nothing/],
    ['Сумма=1.05', '', /line 33: the section has no Сумма/],
    ['Сумма=1.05', 'Сумма=1.05\r\nСумма=2.05', /line 37: Сумма has another value than in line 36/],
    ['Сумма=1.05', 'Сумма=1.50', /line 9: ВсегоПоступило is 40001\.05, and the documents .* make 40001\.50/],
    ['Сумма=10.00', 'Сумма=11.00', /line 9: ВсегоСписано is 10\.00/],
    ['Сумма=1.05', 'Сумма=1', /ВсегоПоступило/],
    ['КонечныйОстаток=40491.05', 'КонечныйОстаток=40491.06', /line 9: КонечныйОстаток is 40491\.06/],
    ['ДатаПоступило=11.11.2026', 'ДатаПоступило=31.02.2026', /line 28: ДатаПоступило is "31\.02\.2026"/],
    ['ДатаПоступило=11.11.2026', '', /ВсегоПоступило/],
    ['Номер=42', `Номер=${'4'.repeat(3000)}`, /line 19: Номер has 3000 characters/],
    ['1CClientBankExchange', 'Exchange', /line 1: is no bank statement/],
    ['КонецФайла', 'КонецФайла\r\n1CClientBankExchange', /line 64: goes on after КонецФайла/],
  ]
  for (const [find, replace, message] of cases) {
    t.throws(
      () => read(changed(find, replace)),
      { name: 'StatementError', message },
      `${find} -> ${replace.slice(0, 40)}`,
    )
  }
  t.throws(
    () => read(statementLines({ account, payments }), '40702810500000000002'),
    /of account 407028102\d+; the seller's is 40702810500000000002/,
  )
})

await t.test('the total decides whether a repeated document is an error or two payments', async t => {
  const twice = [payments[0]!, payments[0]!]
  const lines = statementLines({ account, payments: twice })

  const [first, second] = read(lines)
  t.not(first?.key, second?.key)
  t.throws(
    () => read(lines.map(line => line.replace(/^(ВсегоПоступило|КонечныйОстаток)=.*/, '$1=40000.00'))),
    /doubled \(the document of line 18 stands again in line 33\)/,
  )
  t.throws(
    () => read(lines.filter(line => !line.startsWith('ВсегоПоступило'))),
    /line 32: stands in line 17 already/,
  )
})

const day = fc.integer({ min: 1, max: 28 }).map(one => `2026-11-${String(one).padStart(2, '0')}`)
const anyPayment = fc.record({
  number: fc.stringMatching(/^\d{1,6}$/),
  date: day,
  amount: fc.integer({ min: 1, max: 1e11 }),
  inn: fc.constantFrom('7736207543', '500100732259', ''),
  name: fc.string({ unit: fc.constantFrom('О', '"', '&', '«', '=', '<', '№', ' '), maxLength: 40 }),
  purpose: fc.string({ unit: fc.constantFrom('с', 'ч', '=', '№', '1', ' ', '"', '\t'), maxLength: 60 }),
  isOutgoing: fc.boolean(),
})
const anyPayments = fc.array(anyPayment, { maxLength: 12 })
const encodings = fc.constantFrom(
  'utf-8' as const,
  'utf-8-bom' as const,
  'windows-1251' as const,
  'ibm866' as const,
)

await t.test('any payments are read exactly as written, in order', async t => {
  fc.assert(
    fc.property(anyPayments, encodings, (made, encoding) => {
      const bytes = encodeStatement(statementLines({ account, payments: made }).join('\r\n'), encoding)

      const found = incomingPayments(parseStatement(decodeStatement(bytes)), account)

      const expected = made.filter(one => !one.isOutgoing)
      t.same(
        found.map(one => [one.number, one.date, one.amount]),
        expected.map(one => [one.number, one.date, one.amount]),
      )
      return new Set(found.map(one => one.key)).size === found.length
    }),
    { numRuns: 200 },
  )
})

await t.test('a file that is cut anywhere is refused', async t => {
  const text = statementLines({ account, payments }).join('\r\n')

  fc.assert(
    fc.property(fc.nat(text.length - 2), length => {
      t.throws(() => incomingPayments(parseStatement(text.slice(0, length)), account), {
        name: 'StatementError',
      })
    }),
  )
})

await t.test('overlapping files give the same payments the same keys', async t => {
  fc.assert(
    fc.property(anyPayments, day, day, (made, first, last) => {
      const within = made.filter(one => one.date >= first && one.date <= last)
      const whole = read(statementLines({ account, payments: made }))
      const part = read(
        statementLines({ account, payments: within, from: first, to: last < first ? first : last }),
      )

      const keys = new Set(whole.map(one => one.key))
      return part.every(one => keys.has(one.key))
    }),
  )
  t.pass()
})

await t.test('any bytes are a statement or throw a StatementError', async t => {
  const bytes = Buffer.from(statementLines({ account, payments }).join('\r\n'))

  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.nat(255), (at, byte) => {
      const wrong = Buffer.from(bytes)
      wrong[at] = byte
      try {
        incomingPayments(parseStatement(decodeStatement(wrong)), account)
      } catch (error) {
        if ((error as Error).name !== 'StatementError') throw error
      }
    }),
    { numRuns: 500 },
  )
  t.pass()
})

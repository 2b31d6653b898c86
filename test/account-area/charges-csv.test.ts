import { request } from 'node:http'
import t from 'tap'
import { csvCell } from '../../lib/documents/csv-table.ts'
import { startAccountArea } from '../fixtures/account-area.ts'
import { storeCharges } from '../fixtures/stored-charges.ts'
import { until } from '../fixtures/until.ts'

const area = await startAccountArea(t)
const { browser, email } = await area.signUp()
const accountId = await area.accountOf(email)
const { storeFile, accounts } = area.test
const at = Date.parse('2026-05-05T21:00:05Z')

await t.test(
  "the table is in Excel's format: a byte order mark, semicolons, decimal commas, ISO times",
  async t => {
    const { id: keyId } = await accounts.createKey({
      accountId,
      name: '=HYPERLINK("http://evil.example";"x")',
    })
    const line = {
      model: 'a',
      meters: { input: 1200, audioSeconds: 1.5 },
      tier: 'batch',
      priceVersion: 'p',
      amountMicros: 1_234_567,
    }
    const [first = '', second = ''] = storeCharges(storeFile, [
      {
        accountId,
        keyId,
        at,
        model: 'a;"b"',
        lines: [line],
        amountMicros: 1_234_567,
        flags: ['overrun'],
        overrunMicros: 1,
      },
      {
        accountId,
        keyId: 'gone',
        at: at + 86_400_000,
        model: '@SUM(1)',
        outcome: 'aborted',
        amountMicros: 0,
      },
    ])

    const { status, headers, text } = await browser.get('/charges.csv')

    t.equal(status, 200)
    t.equal(headers['content-type'], 'text/csv; charset=utf-8')
    t.match(headers['content-disposition'], /^attachment; filename="spisaniya-\d{4}-\d\d-\d\d\.csv"$/)
    t.equal(headers['cache-control'], 'no-store')
    t.equal(headers['x-content-type-options'], 'nosniff')
    const [head = '', newest = '', oldest = '', ...rest] = text.split('\r\n')
    t.strictSame(rest, [''])
    t.ok(head.startsWith('\uFEFFВремя;Номер запроса;Часть;'))
    t.ok(
      newest.startsWith(
        `2026-05-07T00:00:05+03:00;${second};0;gone;;'@SUM(1);sandbox;openai;chat;aborted;provider;`,
      ),
    )
    t.ok(
      oldest.startsWith(
        `2026-05-06T00:00:05+03:00;${first};0;${keyId};"'=HYPERLINK(""http://evil.example"";""x"")";"a;""b""";sandbox;`,
      ),
      oldest,
    )
    t.ok(oldest.endsWith(';1,234567;0,000001;0,000000;batch;overrun'), oldest)
    t.match(oldest, ';1200;')
    t.match(oldest, ';1,5;')
    t.equal(newest.split(';').length, head.split(';').length)

    const filtered = await browser.get('/charges.csv?until=2026-05-06')
    t.equal(filtered.text.split('\r\n').length, 3)
    t.match(filtered.text, first)
  },
)

await t.test('no cell begins as a formula, and a separator in a cell does not split it', t => {
  for (const begin of ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']) {
    const cell = csvCell(`${begin}1+1`)
    t.match(cell, /^"?'/, JSON.stringify(begin))
  }
  t.equal(csvCell('a=b'), 'a=b')
  t.equal(csvCell('a;b'), '"a;b"')
  t.equal(csvCell('a,b'), '"a,b"')
  t.equal(csvCell('a\tb'), '"a\tb"')
  t.equal(csvCell('a,=1+1,b'), `"a,'=1+1,b"`, 'nor where a reader splits the table at commas')
  t.equal(csvCell('=1;@2\t-3'), `"'=1;'@2\t'-3"`)
  t.equal(csvCell('a"b'), '"a""b"')
  t.equal(csvCell('=a\nb'), `"'=a\nb"`)
  t.end()
})

await t.test('a long table is read as fast as the client reads, and no further once it left', async t => {
  const { browser: own, email: ownEmail } = await area.signUp()
  const ownId = await area.accountOf(ownEmail)
  const rows = 30_000
  const ids = storeCharges(
    storeFile,
    Array.from({ length: rows }, (_, index) => ({
      accountId: ownId,
      at: at + index,
      model: 'm'.repeat(200),
    })),
  )

  const { text } = await own.get('/charges.csv')
  const lines = text.split('\r\n')
  t.equal(lines.length, rows + 2)
  t.strictSame(
    lines.slice(1, -1).map(line => line.split(';')[1]),
    ids.toReversed(),
  )

  // A client that leaves after the first bytes leaves nothing open: the area still closes at the end.
  const cookie = [...own.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  let isClosed = false
  const sent = request(new URL('/charges.csv', own.url), { headers: { cookie }, agent: false }, answer => {
    answer.once('data', () => answer.destroy())
    answer.on('error', () => undefined)
    answer.on('close', () => (isClosed = true))
  })
  sent.on('error', () => undefined)
  sent.end()
  await until(() => isClosed)
  t.equal((await own.get('/charges')).status, 200)
  t.notOk(
    area.test.logLines.some(line => line.includes('a page failed')),
    'a client that has left is not logged as a failure',
  )
})

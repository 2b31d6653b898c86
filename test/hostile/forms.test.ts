import t from 'tap'
import { statementOf } from '../contracts/documents.ts'
import type { AccountBrowser } from '../fixtures/account-browser.ts'
import { sellerSection } from '../fixtures/companies.ts'
import { startOperatorArea } from '../fixtures/operator-area.ts'
import { connectRaw } from '../fixtures/raw-client.ts'

// Forms for operators as no browser sends them: long ones are read only for operators who may send them, odd ones are
// refused, and nothing is done twice or with another user's permission.

const area = await startOperatorArea(t, { seller: sellerSection })
const { email, browser: customer } = await area.signUp()
const id = await area.accountOf(email)
const owner = await area.operator('owner')
const support = await area.operator('support')
const page = `/customers/${id}`
const origin = new URL(area.deskUrl).origin
const urlencoded = 'application/x-www-form-urlencoded'
const multipart = 'multipart/form-data; boundary=----boundary-of-a-form'

interface Sent {
  readonly type?: string
  readonly path?: string
  readonly by?: AccountBrowser
  /** The declared length, where it is not the body's. */
  readonly length?: number
}

/** The status line and the head of the response. */
async function post(
  body: string | Buffer,
  { type = urlencoded, path = `${page}/credit`, by = owner, length }: Sent = {},
): Promise<string> {
  const client = await connectRaw(t, area.deskUrl)
  const cookies = [...by.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  client.socket.write(
    `POST ${path} HTTP/1.1\r\nhost: g\r\norigin: ${origin}\r\ncookie: ${cookies}\r\ncontent-type: ${type}\r\n` +
      `content-length: ${length ?? Buffer.byteLength(body)}\r\n\r\n`,
  )
  client.socket.write(body)
  await client.waitFor('\r\n\r\n')
  client.socket.destroy()
  return client.received().toString().split('\r\n\r\n')[0] ?? ''
}

function part(name: string, value: string | Uint8Array, file?: string): Buffer {
  const fileName = file === undefined ? '' : `; filename="${file}"`
  const head = `------boundary-of-a-form\r\ncontent-disposition: form-data; name="${name}"${fileName}\r\n\r\n`
  return Buffer.concat([Buffer.from(head), Buffer.from(value), Buffer.from('\r\n')])
}

const form = (...parts: readonly Buffer[]): Buffer =>
  Buffer.concat([...parts, Buffer.from('------boundary-of-a-form--\r\n')])

async function balance(): Promise<unknown> {
  const { stdout } = await area.run('balance', '--account', id, '--json')
  return (JSON.parse(stdout) as { balance: string }).balance
}

await t.test('a long form is not read for users who may not send it', async t => {
  const visitor = area.browser()
  for (const [who, by, status] of [
    ['a visitor', visitor, 303],
    ['a customer', customer, 303],
    ['an operator who moves no money', support, 403],
  ] as const) {
    for (const type of [urlencoded, multipart]) {
      // 30 MB are declared, and not sent: a server that waits for them would also parse them.
      const head = await post('a=b&', { path: '/transfers/import', by, type, length: 30_000_000 })
      t.match(head, `HTTP/1.1 ${status} `, `${who}, ${type}`)
      t.match(head, /\r\nconnection: close/i)
    }
  }
})

await t.test('an odd form moves no money', async t => {
  const csrf = await owner.token(page)
  const supports = await support.token(page)
  const customers = await customer.token('/settings')
  const rows: readonly (readonly [name: string, body: string | Buffer, status: number, type?: string])[] = [
    ['an array instead of an amount', `csrf=${csrf}&rub[]=1&reason=r`, 422],
    ['a member of a prototype', `csrf=${csrf}&__proto__=1&__proto__[rub]=1&constructor.rub=1&reason=r`, 422],
    ['a token of another session', `csrf=${supports}&rub=1&reason=r`, 403],
    ['a token of the other area', `csrf=${customers}&rub=1&reason=r`, 403],
    ['an empty token', 'csrf=&rub=1&reason=r', 403],
    ['tokens, the last of them wrong', `csrf=${csrf}&csrf=x&rub=1&reason=r`, 403],
    ['a token in an array', `csrf[]=${csrf}&rub=1&reason=r`, 403],
    ['JSON', JSON.stringify({ csrf, rub: '1', reason: 'r' }), 403, 'application/json'],
    ['text', `csrf=${csrf}&rub=1&reason=r`, 403, 'text/plain'],
    [
      'a token as a file',
      form(part('csrf', csrf, 'x'), part('rub', '1'), part('reason', 'r')),
      403,
      multipart,
    ],
    [
      'an amount as a file',
      form(part('csrf', csrf), part('rub', '1', 'x'), part('reason', 'r')),
      422,
      multipart,
    ],
    ['a form that breaks off', part('csrf', csrf), 403, multipart],
    ['a reason that is too long', `csrf=${csrf}&rub=1&reason=${'x'.repeat(1001)}`, 422],
    ['an amount of 60,000 digits', `csrf=${csrf}&rub=${'9'.repeat(60_000)}&reason=r`, 422],
    ['an amount of 14,000 groups', `csrf=${csrf}&rub=1${',000'.repeat(14_000)}&reason=r`, 422],
    ['a power of ten', `csrf=${csrf}&rub=1e3&reason=r`, 422],
    ['a negative amount', `csrf=${csrf}&rub=-1&reason=r`, 422],
    ['digits of full width', `csrf=${csrf}&rub=%EF%BC%91&reason=r`, 422],
    ['a reason with a zero byte', `csrf=${csrf}&rub=1&reason=a%00b`, 422],
    ['a reason that reverses the text direction', `csrf=${csrf}&rub=1&reason=a%E2%80%AEb`, 422],
    ['more than the limit of a form', `csrf=${csrf}&rub=1&reason=r&x=${'x'.repeat(70_000)}`, 413],
  ]
  for (const [name, body, status, type = urlencoded] of rows)
    t.match(await post(body, { type }), `HTTP/1.1 ${status} `, name)
  t.equal(await balance(), '0.000000')
})

await t.test('texts of operators and files stay within one cell and one line', async t => {
  const csrf = await owner.token(page)
  for (const path of ['note', 'block', 'unblock', 'end-sessions']) {
    for (const typed of ['a%00b', 'a%E2%80%AEb']) {
      const head = await post(`csrf=${csrf}&note=${typed}&reason=${typed}`, { path: `${page}/${path}` })
      t.match(head, 'HTTP/1.1 422 ', `${path}: ${typed}`)
    }
  }
  t.match(
    await post(`csrf=${csrf}&reason=a%0D%0A%3D1%2B1`, { path: `${page}/end-sessions` }),
    'HTTP/1.1 303 ',
  )
  for (const [index, name] of [
    '../../etc/passwd',
    'a\0b',
    'a\u202Etxt.exe',
    '=1+1;=2',
    'x'.repeat(5000),
  ].entries()) {
    const paid = { number: String(index + 1), date: '2026-11-20', amount: 70_000, purpose: 'x' }
    const body = form(part('csrf', csrf), part('file', statementOf([paid]), name))
    t.match(
      await post(body, { path: '/transfers/import', type: multipart }),
      'HTTP/1.1 200 ',
      name.slice(0, 20),
    )
  }

  const { text } = await owner.get('/log.csv')

  // eslint-disable-next-line no-control-regex
  t.notMatch(text, /[\0\u202E]/)
  t.notMatch(text, /(?:^|[;\n"])=/)
  t.equal(text.match(/kl|passwd|txt\.exe/g)?.length, 2)
  t.same(await area.verify(), [])
})

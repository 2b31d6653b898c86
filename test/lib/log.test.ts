import t from 'tap'
import { createLog } from '../../lib/observability/log.ts'
import { withoutKeys } from '../../lib/observability/log-secrets.ts'

function memoryLog(level = 'info') {
  const lines: string[] = []
  const log = createLog({ level, destination: { write: (line: string) => lines.push(line) } })
  return { log, lines, read: () => lines.map(line => JSON.parse(line) as Record<string, unknown>) }
}

await t.test('a line has its level as a word, its time, its fields and its message', async t => {
  const { log, read } = memoryLog()
  log.child({ requestId: 'r1' }).info({ status: 200 }, 'exchange')
  log.warn('plain')

  t.match(read(), [
    {
      level: 'info',
      time: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
      requestId: 'r1',
      status: 200,
      msg: 'exchange',
    },
    { level: 'warn', msg: 'plain' },
  ])
})

await t.test('lines below the level are not written', async t => {
  const { log, lines } = memoryLog('error')
  log.warn({}, 'no')
  log.error({}, 'yes')

  t.equal(lines.length, 1)
})

await t.test('credentials are redacted by their names, in the first three levels', async t => {
  const { log, lines, read } = memoryLog()
  const headers = {
    authorization: 'Bearer SECRET',
    'x-api-key': 'SECRET',
    'x-goog-api-key': 'SECRET',
    accept: '*/*',
  }
  log.info({ headers, credential: 'SECRET', request: { headers: { cookie: 'SECRET' } } }, 'request')

  t.notMatch(lines.join(), /SECRET/)
  t.match(read(), [{ headers: { accept: '*/*', authorization: '[redacted]' } }])
})

await t.test('credentials are redacted in any spelling, at any depth, in lists and errors', async t => {
  const { log, lines, read } = memoryLog()
  const error = Object.assign(new Error('refused'), { headers: { 'X-Api-Key': 'SECRET' } })
  const facts = { a: [{ b: { c: { Authorization: 'SECRET', at: new Date(0) } } }], credentials: ['SECRET'] }
  log.warn({ error, ...facts }, 'deep')
  log.child({ Cookie: 'SECRET', id: 1 }).info({ n: 1 }, 'child')

  t.notMatch(lines.join(), /SECRET/)
  t.match(read(), [
    {
      a: [{ b: { c: { Authorization: '[redacted]', at: '1970-01-01T00:00:00.000Z' } } }],
      credentials: '[redacted]',
    },
    { id: 1, n: 1 },
  ])
  t.equal(facts.credentials[0], 'SECRET', 'the logged object is not changed')
})

await t.test('keys are redacted in any text', async t => {
  const { log, lines, read } = memoryLog()
  const key = `gw-${'A1_-'.repeat(10)}xyz`
  log.info(
    { url: `/v1beta/models?key=AIzaSECRET&alt=sse`, egress: 'http://user:SECRET@203.0.113.7:3128' },
    `used ${key}`,
  )
  log.error({ error: new Error(`no such key ${key}`) }, 'failed')

  t.notMatch(lines.join(), /SECRET|A1_-/)
  t.match(read(), [
    { url: '/v1beta/models?key=[redacted]&alt=sse', egress: 'http://[redacted]@203.0.113.7:3128' },
    { error: { message: 'no such key [redacted]', stack: /log\.test/ } },
  ])
})

await t.test('a key is redacted behind any character', t => {
  const key = `gw-${'A1_-'.repeat(10)}xyz`

  for (const text of [`"\\n${key}"`, `%20${key}`, `model${key}`, `key_${key}`, key.replace('-', '%2D')]) {
    t.notMatch(withoutKeys(text), /A1_-A1/, text)
  }
  t.equal(withoutKeys('the name gw-short'), 'the name gw-short')
  t.end()
})

import t from 'tap'
import { startOperatorArea } from '../fixtures/operator-area.ts'

const area = await startOperatorArea(t, {
  models: {
    chat: {
      provider: 'sandbox',
      upstreamModel: 'sandbox-chat',
      rubPerMillion: { input: '1000', output: '1000' },
    },
  },
})
const { email } = await area.signUp()
const accountId = await area.accountOf(email)
await area.run('account', 'credit', accountId, '--rub', '1000', '--reason', 'r')
const { key } = await area.test.accounts.createKey({ accountId })
const desk = await area.operator('owner')
const from = '/providers'

async function ask(): Promise<number> {
  const answer = await fetch(`${area.test.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  await answer.text()
  return answer.status
}

function act(name: string, fields: Readonly<Record<string, string>>) {
  return desk.post(`/providers/sandbox/${name}`, fields, { from })
}

await t.test('a pause takes effect at once, and is in the log', async t => {
  t.equal(await ask(), 200)
  const shown = await desk.get(from)
  t.match(shown.text, 'sandbox#1')
  t.match(shown.text, 'direct')

  t.equal((await act('pause', { credential: '', reason: 'авария <b>' })).location, `${from}?notice=done`)
  t.equal(await ask(), 502)
  t.match((await desk.get(from)).text, 'приостановлен')
  t.match((await desk.get('/')).text, /href="\/providers">sandbox<[\s\S]*sandbox#1: приостановлен/)

  t.equal((await act('resume', { credential: '', reason: 'прошло' })).location, `${from}?notice=done`)
  t.equal(await ask(), 200)
  t.notMatch((await desk.get(from)).text, 'приостановлен')
  t.match((await desk.get('/')).text, 'Работают все.')

  t.equal((await act('try', { credential: 'sandbox#1', reason: 'ещё раз' })).location, `${from}?notice=done`)
  const { text } = await desk.get('/log')
  for (const word of ['sandbox: авария &lt;b&gt;', 'sandbox: прошло', 'sandbox#1: ещё раз'])
    t.match(text, word)
})

await t.test('a form that names an unknown provider or credential changes nothing', async t => {
  for (const [path, fields, status] of [
    ['/providers/nobody/pause', { credential: '', reason: 'r' }, 404],
    ['/providers/sandbox/pause', { credential: 'sandbox#7', reason: 'r' }, 404],
    ['/providers/sandbox/pause', { credential: 'a'.repeat(300), reason: 'r' }, 422],
    ['/providers/sandbox/pause', { credential: '', reason: ' ' }, 422],
    ['/providers/sandbox/pause', { credential: '', reason: 'a'.repeat(1001) }, 422],
    ['/providers/sandbox/stop', { credential: '', reason: 'r' }, 404],
  ] as const) {
    t.equal((await desk.post(path, fields, { from })).status, status, JSON.stringify([path, fields]))
  }
  t.equal(await ask(), 200)
})

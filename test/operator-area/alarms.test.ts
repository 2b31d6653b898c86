import t from 'tap'
import { askAs } from '../fixtures/credential-gateway.ts'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { startOperatorArea } from '../fixtures/operator-area.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { until } from '../fixtures/until.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const json = ['content-type', 'application/json']
const refused = plainAnswer(401, json, '{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}')
const upstream = await startRawUpstream(t, () => refused)
const credentials = [{ name: 'main', value: 'sk-canary-0123456789' }]
const area = await startOperatorArea(t, callConfig(upstream.origin, { credentials }))
const desk = await area.operator('support')

async function byCommand(...words: string[]): Promise<readonly Record<string, unknown>[]> {
  const { stdout } = await area.run('alarms', '--json', ...words)
  return stdout
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Record<string, unknown>)
}

await t.test('an alarm is taken and closed on pages, as by command, and both are logged', async t => {
  t.match((await desk.get('/alarms')).text, 'Ничего не требует внимания')
  await askAs(area.test, openai)
  await until(async () => (await byCommand()).length === 1)
  const [alarm] = await byCommand()
  const path = `/alarms/${String(alarm?.['id'])}`
  const { text } = await desk.get('/alarms')
  for (const word of ['credential_suspended', 'openai#main', `action="${path}/take"`]) t.match(text, word)
  t.match(text, 'поставщик не принимает наш ключ')
  t.match(text, 'Что делать: Пополните счёт у поставщика')
  t.notMatch(text, 'a provider refuses')
  t.notMatch(text, 'canary')
  const today = (await desk.get('/')).text
  t.match(
    today,
    /href="\/alarms"><code>credential_suspended<\/code><\/a> поставщик не принимает[\s\S]*openai#main/,
  )
  t.match(today, /href="\/providers">openai<[\s\S]*openai#main: не принят/)
  t.match((await desk.get('/alarms.csv')).text, /^credential_suspended;open;openai#main;20.*;20.*;1/m)

  const from = '/alarms'
  t.equal((await desk.post(`${path}/take`, {}, { from })).location, '/alarms?notice=done')
  const again = await desk.post(`${path}/take`, {}, { from })
  t.equal(again.status, 422, 'it is taken already')
  t.match(again.text, 'уже принял или закрыл кто-то другой')
  t.match(await byCommand(), [{ state: 'taken', takenBy: /^support-\d@desk\.example$/ }])
  for (const reason of ['', ' ', 'a'.repeat(1001)]) {
    t.equal((await desk.post(`${path}/close`, { reason }, { from })).status, 422)
  }
  t.equal((await desk.post('/alarms/nothing/close', { reason: 'x' }, { from })).status, 422)
  const reason = '<b>новый ключ</b>'
  t.equal((await desk.post(`${path}/close`, { reason }, { from })).location, '/alarms?notice=done')
  t.same(await byCommand(), [])
  t.match(await byCommand('--all'), [{ state: 'closed', reason, closedBy: /^support-/ }])
  t.notMatch((await desk.get('/alarms')).text, 'openai#main')
  t.match((await desk.get('/alarms?state=all')).text, '&lt;b&gt;новый ключ')
  const log = await desk.get('/log')
  for (const word of ['принятие тревоги', 'закрытие тревоги', 'support-1@desk.example'])
    t.match(log.text, word)
})

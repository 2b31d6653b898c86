import t from 'tap'
import { startOperatorArea } from '../fixtures/operator-area.ts'
import { startPostgres } from '../fixtures/postgres-server.ts'

await t.test('on PostgreSQL every page is shown, and money moves once with its line in the log', async t => {
  const server = await startPostgres(t)
  const area = await startOperatorArea(t, {
    store: await server.createDatabase(),
    payments: { provider: 'sandbox' },
    models: { 'sandbox-chat': { provider: 'sandbox', rubPerMillion: { input: '1000', output: '1000' } } },
  })
  const { email } = await area.signUp()
  const id = await area.accountOf(email)
  const { key } = await area.test.accounts.createKey({ accountId: id })
  const desk = await area.operator('owner')
  const from = `/customers/${id}`
  const formId = /name="formId" value="([^"]+)"/.exec((await desk.get(from)).text)?.[1] ?? ''
  const form = { formId, rub: '100', reason: 'invoice 17' }
  t.equal((await desk.post(`${from}/credit`, form, { from })).location, `${from}?notice=done`)
  t.equal((await desk.post(`${from}/credit`, form, { from })).location, `${from}?notice=done-before`)
  const answer = await fetch(`${area.test.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  t.equal(answer.status, 200)
  await answer.text()
  const request = answer.headers.get('x-gateway-request-id') ?? ''
  const correction = { request, rub: '0', reason: 'empty' }
  t.equal((await desk.post(`${from}/correct`, correction, { from })).location, `${from}?notice=done`)
  t.equal((await desk.post(`${from}/block`, { reason: 'r' }, { from })).location, `${from}?notice=done`)
  t.equal(
    (await desk.post(`${from}/end-sessions`, { reason: 'r' }, { from })).location,
    `${from}?notice=done`,
  )

  for (const path of [
    '/',
    '/customers?q=a',
    from,
    '/payments',
    '/transfers',
    '/documents',
    '/providers',
    '/prices',
    '/log',
  ]) {
    t.equal((await desk.get(path)).status, 200, path)
  }
  const pause = { credential: '', reason: 'r' }
  t.equal(
    (await desk.post('/providers/sandbox/pause', pause, { from: '/providers' })).location,
    '/providers?notice=done',
  )
  t.match((await desk.get('/providers')).text, 'приостановлен')
  t.match((await area.run('providers', 'list')).stdout, /sandbox +paused/)
  t.match((await desk.get('/log')).text, 'исправление списания')
  t.match((await area.run('balance', '--account', id, '--json')).stdout, '"balance":"100.000000"')
  t.match((await area.run('top', '--by', 'model', '--json')).stdout, '"model":"sandbox-chat"')
  t.match((await area.run('key', 'find', key.slice(-4), '--json')).stdout, `"account":"${id}"`)
  t.same(await area.verify(), [])
})

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { alarmsAmong } from '../../lib/ledger/charge-flags.ts'
import { alarmCodes } from '../../lib/pipeline/alarm-codes.ts'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'

const root = join(import.meta.dirname, '../..')

await t.test('an unwritable store and its return are seen in /readyz, the metrics and the log', async t => {
  const test = await startTestGateway(t, {
    config: {
      admin: { listen: { host: '127.0.0.1', port: 0 } },
      providers: { sandbox: {} },
      models: { 'sandbox-chat': { provider: 'sandbox', rubPerMillion: { input: '100', output: '200' } } },
    },
  })
  const { adminUrl } = test.gateway
  const ready = async () => {
    const response = await fetch(`${adminUrl}/readyz`)
    return { status: response.status, body: (await response.json()) as object }
  }
  const metrics = async () => (await fetch(`${adminUrl}/metrics`)).text()
  const ask = () =>
    fetch(`${test.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${test.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }] }),
    })

  t.same(await ready(), { status: 200, body: { status: 'ok' } })
  t.match(await metrics(), /^gateway_store_up 1$/m)
  t.match(await metrics(), /^gateway_alarms_total\{code="store_unavailable"\} 0$/m)

  const other = new Database(test.storeFile)
  other.exec('BEGIN IMMEDIATE')
  const held = ask()
  await until(async () => (await ready()).status === 503, 20_000)
  t.same(await ready(), { status: 503, body: { status: 'the store cannot be written' } })
  t.match(await metrics(), /^gateway_store_up 0$/m)
  t.match(await metrics(), /^gateway_alarms_total\{code="store_unavailable"\} 1$/m)
  t.match(
    test.logLines.find(line => line.includes('"alarm":"store_unavailable"')),
    /the store cannot be written/,
  )
  other.exec('ROLLBACK')
  other.close()

  await until(async () => (await ready()).status === 200, 20_000)
  t.match(await metrics(), /^gateway_store_up 1$/m)
  await (await held).text()
  const served = await ask()
  t.equal(served.status, 200)
  await test.chargeOf(served.headers.get('x-gateway-request-id') ?? '')
  t.same(await test.breaches(), [])
})

await t.test('every alarm that the source names is counted from 0', t => {
  const files = ['lib', 'plugins'].flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.ts') && !file.startsWith('account-area/'))
      .map(file => join(root, folder, file)),
  )
  const named =
    /(?:emit\('alarm', (?:isUp \? 'egress_up' : )?|flags\.add\(|\braise\(|\bflag\(|\balarm\()['"](\w+)['"]/g
  const codes = alarmsAmong(
    files.flatMap(file => [...readFileSync(file, 'utf8').matchAll(named)].map(([, code]) => String(code))),
  )

  t.ok(codes.length > 15, `${codes.length} were found`)
  t.same(
    codes.filter(code => !(alarmCodes as readonly string[]).includes(code)),
    [],
  )
  t.end()
})

import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { listAlarms } from '../../lib/alarms/alarms.ts'
import { loadConfig } from '../../lib/config/load-config.ts'
import { openRecordReader } from '../../lib/stores/open-store.ts'
import { plugins } from '../../plugins/index.ts'
import { askAs, startWithCredentials } from '../fixtures/credential-gateway.ts'
import { dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { askOnce, startBehind } from '../fixtures/egress-gateway.ts'
import { startHttpEgress } from '../fixtures/http-egress.ts'
import { plainAnswer } from '../fixtures/raw-upstream.ts'
import type { TestGateway } from '../fixtures/test-gateway.ts'
import { startTlsUpstream } from '../fixtures/tls-upstream.ts'
import { until } from '../fixtures/until.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const json = ['content-type', 'application/json']

async function alarmsOf({ storeFile }: TestGateway): Promise<readonly string[]> {
  const reader = await openRecordReader({ kind: 'sqlite', file: storeFile })
  try {
    const rows = await listAlarms(reader, { limit: 10, isAll: true })
    return rows.map(({ kind, state, closed_by }) => [kind, state, closed_by ?? ''].join(' ').trim())
  } finally {
    await reader.close()
  }
}

async function reload({ gateway, configFile }: TestGateway, change: (text: string) => string): Promise<void> {
  writeFileSync(configFile, change(readFileSync(configFile, 'utf8')))
  await gateway.reload(loadConfig(configFile, { env: {}, plugins }).config)
}

await t.test(
  'after a reload, an egress route that works again closes its alarm without a request',
  async t => {
    const upstream = await startTlsUpstream(t, () => plainAnswer(200, json, openai.document))
    const proxy = await startHttpEgress(t)
    const gateway = await startBehind(t, upstream.publicOrigin, { 'fi-1': proxy.url })
    await proxy.stop()
    t.equal((await askOnce(gateway)).status, 502)
    await until(async () => (await alarmsOf(gateway)).includes('egress_down open'))

    await reload(gateway, text => `${text}\n`)
    await reload(gateway, text => `${text}\n`)
    await startHttpEgress(t, { port: proxy.port })

    await until(async () => (await alarmsOf(gateway)).includes('egress_down closed gateway'), 10_000)
    t.same(await alarmsOf(gateway), ['egress_down closed gateway'])
    t.equal(upstream.requests.length, 0)
  },
)

await t.test('a new credential of the same name closes the alarm of the refused one', async t => {
  const refused = plainAnswer(401, json, '{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}')
  const { gateway } = await startWithCredentials(t, openai, [{ name: 'main', value: 'sk-old' }], credential =>
    credential === 'sk-old' ? refused : undefined,
  )
  await askAs(gateway, openai)
  await until(async () => (await alarmsOf(gateway)).includes('credential_suspended open'))

  await reload(gateway, text => text.replace('sk-old', 'sk-new'))
  t.equal((await askAs(gateway, openai)).status, 200)

  await until(async () => (await alarmsOf(gateway)).includes('credential_suspended closed gateway'))
  t.equal(gateway.logLines.filter(line => line.includes('"alarm":"credential_restored"')).length, 1)
  t.equal((await askAs(gateway, openai)).status, 200)
  t.equal(gateway.logLines.filter(line => line.includes('"alarm":"credential_restored"')).length, 1)
})

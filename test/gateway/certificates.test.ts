import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import t from 'tap'
import { loadConfig } from '../../lib/config/load-config.ts'
import { callConfig, dialectCalls } from '../fixtures/dialect-call.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

const pems = join(import.meta.dirname, '../fixtures/tls')
const [openai] = dialectCalls as readonly [(typeof dialectCalls)[0]]

/** The fingerprint of the certificate that a server presents. */
async function fingerprintAt(url: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { fingerprint256 } = socket.getPeerCertificate()
  socket.destroy()
  return fingerprint256
}

await t.test('a reload serves a renewed certificate, and refuses a broken one', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'certificates-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const tls = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
  const install = (name: string): void => {
    copyFileSync(join(pems, `${name}.pem`), tls.cert)
    copyFileSync(join(pems, `${name}.key`), tls.key)
  }
  install('self-signed')
  const upstream = await startRawUpstream(t, () => plainAnswer(200, [], openai.document))
  const accountArea = { listen: { host: '127.0.0.1', port: 0 } }
  const { gateway, configFile } = await startTestGateway(t, {
    config: callConfig(upstream.origin, {}, { tls, accountArea }),
  })
  const places = [gateway.url, String(gateway.accountAreaUrl)]
  const [before] = await Promise.all(places.map(fingerprintAt))
  const reload = (): Promise<void> => gateway.reload(loadConfig(configFile, { env: {} }).config)

  install('good')
  await reload()

  const [renewed, ofPages] = await Promise.all(places.map(fingerprintAt))
  t.not(renewed, before)
  t.equal(ofPages, renewed, 'the account area’s too')

  const refused = { name: 'ConfigError', message: / tls: no certificate/ }
  copyFileSync(join(pems, 'self-signed.key'), tls.key)
  await t.rejects(reload(), refused, 'a key of another certificate')
  writeFileSync(tls.cert, 'half a fi')
  await t.rejects(reload(), refused, 'a file that is no certificate')
  t.same(
    await Promise.all(places.map(fingerprintAt)),
    [renewed, renewed],
    'the old certificate is still served',
  )
})

import t, { type Test } from 'tap'
import { systemClock } from '../../lib/platform/clock.ts'
import { loadConfig } from '../../lib/config/load-config.ts'
import { startGateway } from '../../lib/gateway/gateway.ts'
import { createLog } from '../../lib/observability/log.ts'
import { plugins } from '../../plugins/index.ts'
import { callConfig } from '../fixtures/dialect-call.ts'
import { startFilesProvider } from '../fixtures/files-provider.ts'
import { OwnNameWatcher } from '../../lib/uploads/own-name-watcher.ts'
import { send } from '../fixtures/http-client.ts'
import { connectRaw } from '../fixtures/raw-client.ts'
import { recordedObject } from '../fixtures/recorded-object.ts'
import { startTestGateway, until, type TestGateway } from '../fixtures/test-gateway.ts'

/** The public URL of the gateway. */
const publicUrl = 'https://ai.example.org'
/** Uploads of unknown length have room for the longest. */
const uploads = { bytesMax: '100GB' }

async function start(t: Test) {
  const provider = await startFilesProvider(t)
  const gateway = await startTestGateway(t, {
    config: callConfig(provider.origin, {}, { publicUrl, uploads }),
  })
  return { provider, gateway }
}

function begin(gateway: TestGateway, prefix = '', headers = ['x-goog-api-key', gateway.key]) {
  return send(`${gateway.url}${prefix}/upload/v1beta/files`, {
    headers: [
      ...headers,
      'x-goog-upload-protocol',
      'resumable',
      'x-goog-upload-command',
      'start',
      'x-goog-upload-header-content-type',
      'text/plain',
      'content-type',
      'application/json',
    ],
    body: '{"file":{"display_name":"a.txt"}}',
  })
}

/** An address that the client received, at the origin where this test reaches the gateway. */
function here(gateway: TestGateway, address: string): string {
  return address.replace(publicUrl, gateway.url)
}

async function addressOf(gateway: TestGateway): Promise<string> {
  return here(gateway, String((await begin(gateway)).headers['x-goog-upload-url']))
}

function go(address: string, command: string, body = '', headers: readonly string[] = []) {
  return send(address, {
    headers: [...headers, 'x-goog-upload-command', command, 'x-goog-upload-offset', '0'],
    ...(body !== '' && { body }),
  })
}

for (const prefix of ['', '/google']) {
  await t.test(`a resumable upload to Google continues without a key, below ${prefix}/`, async t => {
    const { provider, gateway } = await start(t)
    const begun = await begin(gateway, prefix)
    t.equal(begun.status, 200)
    const uploadUrl = String(begun.headers['x-goog-upload-url'])
    t.match(uploadUrl, `${publicUrl}${prefix}/upload/v1beta/files?upload_id=`)
    t.equal(begun.headers['x-goog-upload-control-url'], uploadUrl)
    const address = here(gateway, uploadUrl)
    const id = new URL(address).searchParams.get('upload_id') ?? ''
    t.match(
      recordedObject(gateway, 'upload', id),
      { accountId: gateway.accountId },
      'recorded before its address is returned',
    )

    const queried = await go(address, 'query')
    t.equal(queried.headers['x-goog-upload-status'], 'active')
    const sent = await go(address, 'upload, finalize', 'Words.')
    t.equal(sent.status, 200, sent.body.toString())
    const { file } = JSON.parse(sent.body.toString()) as { file: { name: string; uri: string } }
    t.equal(provider.files.get(file.name)?.bytes.toString(), 'Words.')
    t.match(file.uri, provider.origin, 'the uri of the file is unchanged')
    t.match(recordedObject(gateway, 'file', file.name), { accountId: gateway.accountId, facts: { bytes: 6 } })
    t.ok(
      provider.requests.every(
        ({ headers }) => headers['x-goog-api-key'] === 'sk-provider-credential-0123456789',
      ),
    )

    const download = await send(`${gateway.url}${prefix}/v1beta/${file.name}:download?alt=media`, {
      method: 'GET',
      headers: ['x-goog-api-key', gateway.key],
    })
    t.equal(download.status, 302)
    const location = String(download.headers['location'])
    t.equal(location, `${publicUrl}${prefix}/download/v1beta/${file.name}:download?alt=media`)
    const bytes = await send(here(gateway, location), {
      method: 'GET',
      headers: ['x-goog-api-key', gateway.key],
    })
    t.equal(bytes.body.toString(), 'Words.')
    t.same(await gateway.charges(), [])
  })
}

await t.test('only the account that began an upload may continue it', async t => {
  const { provider, gateway } = await start(t)
  const other = await gateway.accounts.createAccount({ email: 'other@example.org' })
  const { key } = await gateway.accounts.createKey({ accountId: other.id })
  const address = await addressOf(gateway)
  const sent = provider.requests.length

  t.equal((await go(address, 'upload, finalize', 'x', ['x-goog-api-key', key])).status, 404, 'another key')
  const unknown = await go(address.replace(/upload_id=[^&]*/, 'upload_id=up-99'), 'upload, finalize', 'x')
  t.equal(unknown.status, 404, 'an unknown address')
  t.equal((await go(address, 'upload', 'x', ['x-goog-api-key', 'gw-wrong'])).status, 401, 'a wrong key')
  t.equal((await begin(gateway, '', [])).status, 401, 'beginning needs a key')
  await gateway.accounts.revokeKey(gateway.keyId)
  t.equal((await go(address, 'cancel')).status, 401, 'the key that began it is revoked')
  t.equal(provider.requests.length, sent, 'nothing is forwarded')
})

await t.test('an upload continues after a restart', async t => {
  const { provider, gateway } = await start(t)
  const address = await addressOf(gateway)
  await gateway.gateway.close(1000)
  const { config } = loadConfig(gateway.configFile, { env: {} })
  const log = createLog({ level: 'info', destination: { write: () => undefined } })
  const again = await startGateway({ config, plugins, log, clock: systemClock })
  t.teardown(() => again.close(1000))

  const sent = await go(address.replace(gateway.url, again.url), 'upload, finalize', 'Words.')
  t.equal(sent.status, 200, sent.body.toString())
  t.equal(provider.files.size, 1)
})

await t.test('a file may be uploaded in pieces, and an upload may be cancelled', async t => {
  const { provider, gateway } = await start(t)
  const address = await addressOf(gateway)
  const at = (offset: number, command: string, body: string) =>
    send(address, {
      headers: ['x-goog-upload-command', command, 'x-goog-upload-offset', String(offset)],
      body,
    })
  t.equal((await at(0, 'upload', 'One ')).headers['x-goog-upload-status'], 'active')
  const last = await at(4, 'upload, finalize', 'two.')
  const { file } = JSON.parse(last.body.toString()) as { file: { name: string } }
  t.equal(provider.files.get(file.name)?.bytes.toString(), 'One two.')
  t.match(recordedObject(gateway, 'file', file.name), { facts: { bytes: 8 } })

  const next = await addressOf(gateway)
  t.equal((await go(next, 'cancel')).headers['x-goog-upload-status'], 'cancelled')
})

const boundary = 'limit'
const part = (text: string): string =>
  `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\ncontent-type: text/plain\r\n\r\n${text}`

for (const [dialect, version] of [
  ['openai', []],
  ['anthropic', ['anthropic-version', '2023-06-01']],
] as const) {
  await t.test(`${dialect}: a form without a boundary, or cut in the middle, is refused`, async t => {
    const { provider, gateway } = await start(t)
    const upload = (type: string, body: string) =>
      send(`${gateway.url}/v1/files`, {
        headers: ['authorization', `Bearer ${gateway.key}`, ...version, 'content-type', type],
        body,
      })
    const without = await upload('multipart/form-data', part('x'))
    t.equal(without.status, 400)
    t.match(without.body.toString(), /boundary/)
    t.equal(provider.requests.length, 0)
    const cut = await upload(`multipart/form-data; boundary=${boundary}`, part('Half of'))
    t.equal(cut.status, 400, cut.body.toString())
    t.equal(provider.requests.length, 0, 'the provider received no complete request')
    const whole = await upload(
      `multipart/form-data; boundary=${boundary}`,
      `${part('All of it')}\r\n--${boundary}--\r\n`,
    )
    t.equal(whole.status, 200, 'the next one is accepted')
    t.same(await gateway.charges(), [])
  })
}

await t.test('an upload that stops half way is aborted at the provider, and records no file', async t => {
  const { provider, gateway } = await start(t)
  const { socket } = await connectRaw(t, gateway.url)
  socket.write(
    `POST /v1/files HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${gateway.key}\r\n` +
      `content-type: multipart/form-data; boundary=${boundary}\r\ncontent-length: 1000000\r\n\r\n${part('x'.repeat(5000))}`,
  )
  await until(() => provider.begunCount === 1)
  socket.destroy()
  await until(() => provider.brokenCount === 1)
  await until(() => gateway.logLines.some(line => line.includes('"outcome":"aborted"')))
  t.equal(provider.requests.length, 0)
  t.equal(provider.files.size, 0)
  t.same(await gateway.charges(), [])
  t.same(await gateway.breaches(), [])
})

await t.test(
  'an upload that chooses its own name is refused, since another account may have had it',
  async t => {
    const { provider, gateway } = await start(t)
    const named = '{"file":{"display_name":"a","n\\u0061me":"files/mine"}}'
    const behind = `{"file":{"display_name":"${'a'.repeat(100_000)}","name":"files/mine"}}`
    const related = (json: string, before = '', eol = '\r\n'): string =>
      `${before}--${boundary}${eol}content-type: application/json${eol}${eol}${json}${eol}--${boundary}${eol}${eol}x${eol}--${boundary}--`
    const parts = `multipart/related; boundary=${boundary}`
    for (const [protocol, body, type, status] of [
      ['resumable', named, 'application/json', 501],
      ['multipart', related(named), parts, 501],
      ['resumable', behind, 'application/json', 501],
      ['multipart', related(behind), parts, 501],
      ['multipart', related(named, '\r\n'), parts, 501],
      ['multipart', related(named, '', '\n'), parts, 501],
      ['multipart', 'x'.repeat(20_000), parts, 501],
      ['resumable', "{file:{'name':'files/mine'}}", 'application/json', 400],
      ['multipart', related("{file:{'name':'files/mine'}}"), parts, 400],
    ] as const) {
      const answer = await send(`${gateway.url}/upload/v1beta/files`, {
        headers: ['x-goog-api-key', gateway.key, 'x-goog-upload-protocol', protocol, 'content-type', type],
        body,
      })
      t.equal(answer.status, status, `${body.slice(0, 60)}: ${answer.body.toString()}`)
    }
    // A body is read as a description when one sign of the protocol says raw and another does not.
    for (const [query, type] of [
      ['?uploadType=multipart', 'application/json'],
      ['?upload_protocol=resumable', 'application/json'],
      ['', parts],
    ] as const) {
      const answer = await send(`${gateway.url}/upload/v1beta/files${query}`, {
        headers: ['x-goog-api-key', gateway.key, 'x-goog-upload-protocol', 'raw', 'content-type', type],
        body: type === parts ? related(named) : named,
      })
      t.equal(answer.status, 501, answer.body.toString())
    }
    t.equal(provider.requests.length, 0)
  },
)

await t.test('a raw upload to Google in one request is measured', async t => {
  const { gateway } = await start(t)
  const answer = await send(`${gateway.url}/upload/v1beta/files`, {
    headers: ['x-goog-api-key', gateway.key, 'x-goog-upload-protocol', 'raw', 'content-type', 'text/plain'],
    body: '{"file":{"name":"no description, but the file"}}',
  })
  const { file } = JSON.parse(answer.body.toString()) as { file: { name: string } }
  t.match(recordedObject(gateway, 'file', file.name), { accountId: gateway.accountId, facts: { bytes: 48 } })
})

await t.test('a description in very small pieces is scanned once', async t => {
  const watcher = new OwnNameWatcher(true, 'application/json')
  const text = Buffer.from(`{"file":{"display_name":"${'a'.repeat(60_000)}"`)
  for (const byte of text) watcher.onData(Buffer.of(byte))
  t.throws(() => watcher.onData(Buffer.from(',"name":"files/mine"')), { code: 'not_supported' })
})

await t.test('of 33 unfinished uploads of an account its oldest is no longer measured', async t => {
  const { gateway } = await start(t)
  const other = await gateway.accounts.createAccount({ email: 'other@example.org' })
  const { key } = await gateway.accounts.createKey({ accountId: other.id })
  const at = (address: string, offset: number, command: string, body: string) =>
    send(address, {
      headers: ['x-goog-upload-command', command, 'x-goog-upload-offset', String(offset)],
      body,
    })
  const half = async (own: TestGateway): Promise<string> => {
    const address = await addressOf(own)
    t.equal((await at(address, 0, 'upload', 'One ')).status, 200)
    return address
  }
  const rest = async (address: string): Promise<unknown> => {
    const answer = await at(address, 4, 'upload, finalize', 'two.')
    t.equal(answer.status, 200, answer.body.toString())
    const { file } = JSON.parse(answer.body.toString()) as { file: { name: string } }
    return recordedObject(gateway, 'file', file.name)?.facts
  }
  const others = await half({ ...gateway, key })
  const own: string[] = []
  for (let count = 0; count < 33; count++) own.push(await half(gateway))

  t.same(await rest(String(own[0])), {}, 'the oldest is forwarded, and not measured')
  t.match(await rest(String(own[1])), { bytes: 8 }, 'the next one is measured')
  t.match(await rest(String(own.at(-1))), { bytes: 8 })
  t.match(await rest(others), { bytes: 8 }, "another account's is measured")
  t.same(await gateway.charges(), [])
})

import t from 'tap'
import { gzipSync } from 'node:zlib'
import { checkFull, hasRoom, openaiForm, startBoundedGateway } from '../fixtures/bounded-gateway.ts'
import { callConfig } from '../fixtures/dialect-call.ts'
import { startFilesProvider } from '../fixtures/files-provider.ts'
import { send } from '../fixtures/http-client.ts'
import { connectRaw } from '../fixtures/raw-client.ts'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'
import {
  beginGoogle,
  beginParts,
  endParts,
  formOf,
  formType,
  goOn,
  keyHeaders,
  type Caller,
} from '../fixtures/upload-ways.ts'

const hourMs = 3_600_000
const { provider, gateway, time, somebody } = await startBoundedGateway(t)

/** The bytes of a request that uploads a form. */
function wireForm({ key }: Caller): string {
  const form = formOf(6000)
  return (
    `POST /v1/files HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${key}\r\ncontent-type: ${formType}\r\n` +
    `content-length: ${form.length}\r\n\r\n${form}`
  )
}

await t.test('begun uploads count with their stated length until they are cancelled', async t => {
  const caller = await somebody()
  const parts = await beginParts(caller, 4000)
  const google = await beginGoogle(caller, 4000)
  t.notOk(await hasRoom(caller), 'two are the maximum')
  const { id } = JSON.parse(parts.body.toString()) as { id: string }

  const headers = keyHeaders('openai', caller.key)
  t.equal((await send(`${caller.url}/v1/uploads/${id}/cancel`, { headers })).status, 200)

  t.ok(await hasRoom(caller, openaiForm, 5000))
  t.notOk(await hasRoom(caller, openaiForm, 7000))
  t.equal((await goOn(caller, google, 'query')).status, 200)
  t.notOk(await hasRoom(caller, openaiForm, 7000), 'a query does not end an upload')
  t.equal((await goOn(caller, google, 'cancel')).status, 200)
  t.ok(await hasRoom(caller, openaiForm, 9000))
})

await t.test('abandoned uploads make room, and need room again when they continue', async t => {
  const caller = await somebody()
  await beginParts(caller, 10)
  const google = await beginGoogle(caller, 10)
  t.notOk(await hasRoom(caller))
  time.ms += 3 * hourMs
  for (const bytes of [10, 20]) t.equal((await openaiForm.upload(caller, bytes)).answer.status, 200)
  const { size } = provider.files

  checkFull(t, await goOn(caller, google, 'upload, finalize', 'xxxxxxxxxx'), 'google', 2)

  t.equal(provider.files.size, size)
})

await t.test('a begun upload completes in its reserved room, although the account is full', async t => {
  const caller = await somebody()
  const parts = await beginParts(caller, 10)
  const google = await beginGoogle(caller, 10)
  t.notOk(await hasRoom(caller))

  t.equal((await endParts(caller, parts, 10)).status, 200)
  t.equal((await goOn(caller, google, 'upload', 'xxxxx')).status, 200)
  t.equal((await goOn(caller, google, 'upload, finalize', 'xxxxx')).status, 200)

  t.notOk(await hasRoom(caller))
})

await t.test('no header can understate the length of an upload', async t => {
  const caller = await somebody()
  const says = ['x-goog-upload-header-content-length', '1']
  const related = ['content-type', 'multipart/related; boundary=limit']
  const start = ['x-goog-upload-protocol', 'resumable', 'x-goog-upload-command', 'start']
  await openaiForm.upload(caller, 10)

  for (const [headers, bytes] of [
    [['x-goog-upload-protocol', 'raw', ...says], 20_000],
    [['x-goog-upload-protocol', 'multipart', ...related, ...says], 20_000],
    [[...start, ...says, ...says], 2],
    [[...start, ...related], 2],
    [[...start, 'x-goog-upload-header-content-length', '-5'], 2],
  ] as const) {
    const own = keyHeaders('google', caller.key)
    const request = { headers: [...own, ...headers], body: 'x'.repeat(bytes) }
    checkFull(t, await send(`${caller.url}/upload/v1beta/files`, request), 'google', 1)
  }
})

await t.test('a client that leaves during its upload releases its room', async t => {
  const caller = await somebody()
  const client = await connectRaw(t, caller.url)
  client.socket.write(wireForm(caller).slice(0, 400))
  await until(async () => !(await hasRoom(caller, openaiForm, 6000)))
  client.socket.destroy()

  await until(() => hasRoom(caller, openaiForm, 6000))
})

for (const onClientLeft of ['drain', 'abort']) {
  await t.test(
    `a file whose client leaves before the response is recorded and counted: ${onClientLeft}`,
    async t => {
      const { provider, somebody } = await startBoundedGateway(t, undefined, { onClientLeft })
      const caller = await somebody()
      const client = await connectRaw(t, caller.url)
      provider.delayMs = 300
      client.socket.write(wireForm(caller))
      await until(() => provider.requests.length === 1)
      client.socket.destroy()
      await until(() => provider.files.size === 1)
      provider.delayMs = 0

      const headers = keyHeaders('openai', caller.key)
      await until(async () => {
        const listed = await send(`${caller.url}/v1/files`, { method: 'GET', headers })
        return listed.body.includes('"file-1"')
      })
      t.notOk(await hasRoom(caller, openaiForm, 6000))
    },
  )
}

await t.test('an upload of unknown length needs room for the longest file', async t => {
  const { provider, somebody } = await startBoundedGateway(t, { bytesMax: '600MB' })
  const caller = await somebody()
  const headers = ['content-type', formType]
  const chunked = async (): Promise<number> => {
    const request = {
      method: 'POST',
      headers: { authorization: `Bearer ${caller.key}`, 'content-type': formType },
      body: new Blob([formOf(10)]).stream(),
      duplex: 'half',
    }
    const answer = await fetch(`${caller.url}/v1/files`, request)
    const text = await answer.text()
    if (answer.status === 403) t.match(text, 'which does not declare its length, needs 536870912 bytes')
    return answer.status
  }
  const encoded = async (coding: string, body: Buffer): Promise<number> => {
    const own = [...keyHeaders('openai', caller.key), ...headers, 'content-encoding', coding]
    return (await send(`${caller.url}/v1/files`, { headers: own, body })).status
  }
  const zipped = (): Promise<number> => encoded('gzip', gzipSync(formOf(10)))
  t.equal(await chunked(), 200)
  t.equal(await zipped(), 200)
  t.equal((await beginGoogle(caller, undefined)).status, 403, "Google's files may be longer")
  await beginParts(caller, 100 * 1024 ** 2)

  t.equal(await chunked(), 403)
  t.equal(await zipped(), 403)

  t.ok(await hasRoom(caller), 'an upload of a known short length fits')
  t.equal(
    await encoded('Identity', Buffer.from(formOf(10))),
    200,
    'and an uncompressed one, in any spelling of identity',
  )
  t.equal(provider.files.size, 3)
})

await t.test('finished and begun uploads count after a restart', async t => {
  const provider = await startFilesProvider(t)
  const store = `sqlite:${t.testdir()}/gateway.db`
  const config = { ...callConfig(provider.origin, {}, { uploads: { filesMax: 2 } }), store }
  const first = await startTestGateway(t, { config })
  await openaiForm.upload(first, 10)
  await beginGoogle(first, 10)
  await first.gateway.close(1000)

  const second = await startTestGateway(t, { config, beside: first })

  checkFull(t, (await openaiForm.upload(second, 10)).answer, 'openai', 2)
})

await t.test('nothing was charged', async t => {
  t.same(await gateway.charges(), [])
  t.same(await gateway.breaches(), [])
})

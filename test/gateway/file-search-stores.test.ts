import { gzipSync } from 'node:zlib'
import type { GoogleGenAI } from '@google/genai'
import t, { type Test } from 'tap'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { googleClient } from '../fixtures/sdk-clients.ts'
import { startStoreGateway } from '../fixtures/store-gateway.ts'

const name = 'fileSearchStores/books-1'
const store = { name, displayName: 'Books', activeDocumentsCount: '1' }
const document = { name: `${name}/documents/moby`, displayName: 'Moby' }
const imported = `${name}/operations/import-1`
const uploaded = `${name}/upload/operations/upload-1`
const content = Buffer.from('Call me Ishmael.')

/** Google's responses, by method and path. */
const answers: Readonly<Record<string, object>> = {
  'POST /v1beta/fileSearchStores': store,
  [`GET /v1beta/${name}`]: store,
  [`DELETE /v1beta/${name}`]: {},
  [`POST /v1beta/${name}:importFile`]: { name: imported },
  [`GET /v1beta/${imported}`]: { name: imported, done: true, response: {} },
  [`GET /v1beta/${uploaded}`]: { name: uploaded, done: true, response: {} },
  [`GET /v1beta/${name}/documents`]: { documents: [document] },
  [`GET /v1beta/${document.name}`]: document,
  [`DELETE /v1beta/${document.name}`]: {},
}

async function start(t: Test, options: Parameters<typeof startStoreGateway>[2] = {}) {
  const upstream = await startRawUpstream(t, ({ method, path, headers }) => {
    const json = ['content-type', 'application/json']
    if (path.startsWith('/upload/')) {
      if (headers.includes('start')) {
        const isFile = path.startsWith('/upload/v1beta/files')
        const address = `${upstream.origin}${path}?upload_id=${isFile ? 'of-file' : 'of-store'}`
        const more = ['x-goog-upload-url', address, 'x-goog-upload-status', 'active']
        return plainAnswer(200, [...json, ...more], '{}')
      }
      const body = path.includes('of-file') ? { file: { name: 'files/moby' } } : { name: uploaded }
      return plainAnswer(200, [...json, 'x-goog-upload-status', 'final'], JSON.stringify(body))
    }
    const answer = answers[`${method} ${path.replace(/\?.*/, '')}`]
    return plainAnswer(answer === undefined ? 404 : 200, json, JSON.stringify(answer ?? {}))
  })
  const { gateway, stranger } = await startStoreGateway(t, upstream.origin, options)
  return {
    gateway,
    upstream,
    google: googleClient(gateway),
    theirs: googleClient(stranger),
  }
}

async function namesOf(
  pages: Promise<AsyncIterable<{ readonly name?: string }>>,
): Promise<readonly unknown[]> {
  const names: unknown[] = []
  for await (const { name } of await pages) names.push(name)
  return names
}

const blob = (): Blob => new Blob([new Uint8Array(content)], { type: 'text/plain' })

/** Every request about an existing store, by Google's client. */
function requestsOf(google: GoogleGenAI, of: string): readonly (() => Promise<unknown>)[] {
  const { fileSearchStores } = google
  return [
    () => fileSearchStores.get({ name: of }),
    () => fileSearchStores.importFile({ fileSearchStoreName: of, fileName: 'files/moby' }),
    () => fileSearchStores.uploadToFileSearchStore({ fileSearchStoreName: of, file: blob() }),
    () => namesOf(fileSearchStores.documents.list({ parent: of })),
    () => fileSearchStores.documents.get({ name: `${of}/documents/moby` }),
    () => fileSearchStores.documents.delete({ name: `${of}/documents/moby` }),
    () => fileSearchStores.delete({ name: of, config: { force: true } }),
  ]
}

await t.test("Google's client creates, fills, reads and deletes a file search store", async t => {
  const { gateway, google, upstream } = await start(t)
  await google.files.upload({ file: blob() })

  t.match(await google.fileSearchStores.create({ config: { displayName: 'Books' } }), { name })
  t.same(await namesOf(google.fileSearchStores.list()), [name])
  const [, importFile, upload] = requestsOf(google, name)
  t.match(await importFile?.(), { name: imported })
  t.match(await upload?.(), { name: uploaded })
  t.ok(
    upstream.requests.some(({ body }) => body.equals(content)),
    'byte for byte',
  )
  for (const path of [imported, uploaded]) {
    const headers = { 'x-goog-api-key': gateway.key }
    t.match(await (await fetch(`${gateway.url}/v1beta/${path}`, { headers })).json(), {
      name: path,
      done: true,
    })
  }
  for (const ask of requestsOf(google, name)) await t.resolves(ask())

  t.same(await namesOf(google.fileSearchStores.list()), [], 'it is gone')
  t.same(await gateway.breaches(), [])
})

await t.test("another account's store is refused like one that does not exist", async t => {
  const { google, theirs, upstream } = await start(t)
  await google.files.upload({ file: blob() })
  await google.fileSearchStores.create({})
  const sent = upstream.requests.length

  for (const one of [name, 'fileSearchStores/none']) {
    for (const [index, ask] of requestsOf(theirs, one).entries()) {
      const error = await ask().catch((error: unknown) => error)
      t.match(error, { status: 404 }, `${index} of ${one}: ${String(error)}`)
    }
  }
  t.same(await namesOf(theirs.fileSearchStores.list()), [])
  const unknownFile = { fileSearchStoreName: name, fileName: 'files/none' }
  t.match(await google.fileSearchStores.importFile(unknownFile).catch((error: unknown) => error), {
    status: 404,
  })
  t.equal(upstream.requests.length, sent, 'the provider receives no request')
})

await t.test('content of a store is held for and charged by its size, and refused without money', async t => {
  const { gateway, google } = await start(t)
  await google.files.upload({ file: blob() })
  await google.fileSearchStores.create({})
  const [, importFile, upload] = requestsOf(google, name)
  await importFile?.()
  await upload?.()

  const ofContent = {
    usage: { input: 4 },
    usageSource: 'estimated',
    flags: ['size_estimated'],
    amount: '0.004000',
  }
  t.match(await gateway.charges(), [
    { operation: 'file-search-store-import', model: 'gemini-embedding-2', ...ofContent },
    { operation: 'file-search-store-upload', usage: { input: 0 }, amount: '0.000000' },
    { operation: 'file-search-store-chunk', ...ofContent },
  ])
  t.match(await gateway.balance(), { heldMicros: 0 })

  const { accounts, accountId } = gateway
  await accounts.debit({ accountId, amountMicros: 99_999_000_000, reason: 'test' })
  const large = new Blob([new Uint8Array(5_000_000)], { type: 'text/plain' })
  const into = { fileSearchStoreName: name, file: large }
  const error = await google.fileSearchStores.uploadToFileSearchStore(into).catch((error: unknown) => error)
  t.match(error, { status: 402 })
  t.same(await gateway.breaches(), [])
})

await t.test('an upload of unknown size into a store is refused', async t => {
  const { gateway, google, upstream } = await start(t)
  await google.fileSearchStores.create({})
  const sent = upstream.requests.length
  const address = `${gateway.url}/upload/v1beta/${name}:uploadToFileSearchStore`
  for (const [body, headers] of [
    [new Blob([content]).stream(), {}],
    [gzipSync(content), { 'content-encoding': 'gzip' }],
  ] as const) {
    // The types of fetch lack `duplex`, which a stream needs.
    const duplex = { duplex: 'half' }
    const response = await fetch(address, {
      method: 'POST',
      headers: { 'x-goog-api-key': gateway.key, ...headers },
      body,
      ...duplex,
    })
    t.equal(response.status, 400)
    t.match(await response.text(), /paid for by its size/)
  }
  t.equal(upstream.requests.length, sent)
})

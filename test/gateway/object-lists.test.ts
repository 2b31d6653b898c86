import { APIError } from 'openai'
import t from 'tap'
import type { ObjectKind } from '../../lib/money/usage.ts'
import { callConfig } from '../fixtures/dialect-call.ts'
import { send } from '../fixtures/http-client.ts'
import { recordObjects, startObjectShelf, type RecordedObject } from '../fixtures/object-shelf.ts'
import { anthropicClient, googleClient, openaiClient } from '../fixtures/sdk-clients.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

const day = 86_400_000
const count = 250
const shelf = await startObjectShelf(t)
const publicUrl = 'https://gateway.example'
const config = { ...callConfig(shelf.origin, { credentials: ['sk-one', 'sk-two'] }), publicUrl }
const gateway = await startTestGateway(t, { config })
const other = await gateway.accounts.createAccount({ email: 'other@example.org' })
const { key: otherKey } = await gateway.accounts.createKey({ accountId: other.id })
const third = await gateway.accounts.createAccount({ email: 'third@example.org' })
const { key: thirdKey } = await gateway.accounts.createKey({ accountId: third.id })

/** A kind of objects in a dialect, an example of one, and all of an account's by the SDK's own paging. */
interface Shelved {
  readonly dialect: 'openai' | 'anthropic' | 'google'
  readonly kind: ObjectKind
  readonly list: string
  readonly id: (name: string) => string
  readonly show: (id: string) => object
  readonly all: (key: string) => Promise<readonly string[]>
}

const openai = (key: string) => openaiClient({ url: gateway.url, key })
const anthropic = (key: string) => anthropicClient({ url: gateway.url, key })
const google = (key: string) => googleClient({ url: gateway.url, key })

async function idsOf<T>(pages: AsyncIterable<T> | Promise<AsyncIterable<T>>, id: (one: T) => unknown) {
  const ids: string[] = []
  for await (const one of await pages) ids.push(String(id(one)))
  return ids
}

const shelved: readonly Shelved[] = [
  {
    dialect: 'openai',
    kind: 'file',
    list: '/v1/files',
    id: name => `file-${name}`,
    show: id => ({ id, object: 'file', bytes: 7, filename: `${id}.txt`, purpose: 'user_data' }),
    all: key => idsOf(openai(key).files.list(), ({ id }) => id),
  },
  {
    dialect: 'openai',
    kind: 'batch',
    list: '/v1/batches',
    id: name => `batch_${name}`,
    show: id => ({ id, object: 'batch', status: 'completed', output_file_id: `file-of-${id}` }),
    all: key => idsOf(openai(key).batches.list({ limit: 70 }), ({ id }) => id),
  },
  {
    dialect: 'openai',
    kind: 'video',
    list: '/v1/videos',
    id: name => `video_${name}`,
    show: id => ({ id, object: 'video', model: 'sora-2', status: 'queued' }),
    all: key => idsOf(openai(key).videos.list({ limit: 33 }), ({ id }) => id),
  },
  {
    dialect: 'anthropic',
    kind: 'file',
    list: '/v1/files',
    id: name => `file_${name}`,
    show: id => ({ id, type: 'file', filename: `${id}.txt`, size_bytes: 7 }),
    all: key => idsOf(anthropic(key).beta.files.list(), ({ id }) => id),
  },
  {
    dialect: 'anthropic',
    kind: 'batch',
    list: '/v1/messages/batches',
    id: name => `msgbatch_${name}`,
    show: id => ({
      id,
      type: 'message_batch',
      processing_status: 'ended',
      results_url: `${shelf.origin}/v1/messages/batches/${id}/results`,
    }),
    all: key => idsOf(anthropic(key).messages.batches.list({ limit: 90 }), ({ id }) => id),
  },
  {
    dialect: 'google',
    kind: 'file',
    list: '/v1beta/files',
    id: name => `files/${name}`,
    show: name => ({
      name,
      uri: `https://generativelanguage.googleapis.com/v1beta/${name}`,
      state: 'ACTIVE',
    }),
    all: key => idsOf(google(key).files.list({ config: { pageSize: 60 } }), ({ name }) => name),
  },
  {
    dialect: 'google',
    kind: 'cachedContent',
    list: '/v1beta/cachedContents',
    id: name => `cachedContents/${name}`,
    show: name => ({ name, model: 'models/gemini-2.5-flash', usageMetadata: { totalTokenCount: 4096 } }),
    all: key => idsOf(google(key).caches.list(), ({ name }) => name),
  },
  {
    dialect: 'google',
    kind: 'batch',
    list: '/v1beta/batches',
    id: name => `batches/${name}`,
    show: name => ({ name, metadata: { state: 'BATCH_STATE_RUNNING' } }),
    all: key => idsOf(google(key).batches.list({ config: { pageSize: 99 } }), ({ name }) => name),
  },
  {
    dialect: 'google',
    kind: 'fileSearchStore',
    list: '/v1beta/fileSearchStores',
    id: name => `fileSearchStores/${name}`,
    show: name => ({ name, activeDocumentsCount: '1' }),
    all: key => idsOf(google(key).fileSearchStores.list({ config: { pageSize: 20 } }), ({ name }) => name),
  },
  {
    dialect: 'openai',
    kind: 'vectorStore',
    list: '/v1/vector_stores',
    id: name => `vs_${name}`,
    show: id => ({ id, object: 'vector_store', status: 'completed', usage_bytes: 7 }),
    all: key => idsOf(openai(key).vectorStores.list({ limit: 40 }), ({ id }) => id),
  },
]

const pathOf = ({ dialect, list }: Shelved, id: string): string =>
  dialect === 'google' ? `/v1beta/${id}` : `${list}/${id}`
/** A form that no program of ours would write. */
const textOf = (object: object): string => `${JSON.stringify(object, null, 3)}\n`

function put(
  one: Shelved,
  name: string,
  accountId: string,
  at: number,
  more: Partial<RecordedObject> = {},
): string {
  const id = one.id(name)
  const credential = more.credential ?? `${one.dialect}#1`
  recordObjects(gateway.storeFile, [
    { provider: one.dialect, kind: one.kind, id, accountId, at, dialect: one.dialect, ...more, credential },
  ])
  shelf.put(credential.endsWith('2') ? 'sk-two' : 'sk-one', pathOf(one, id), textOf(one.show(id)))
  return id
}

/** An account's key, in the headers of each dialect. */
const keyHeaders = (dialect: string, key: string): string[] =>
  dialect === 'google'
    ? ['x-goog-api-key', key]
    : [
        'authorization',
        `Bearer ${key}`,
        ...(dialect === 'anthropic' ? ['anthropic-version', '2023-06-01'] : []),
      ]
const ask = (one: Shelved, query: string, key = gateway.key) =>
  send(`${gateway.url}${one.list}${query}`, { method: 'GET', headers: keyHeaders(one.dialect, key) })

const own = new Map<Shelved, readonly string[]>()
for (const one of shelved) {
  const begin = Date.now() - day
  const ids: string[] = []
  const rows: RecordedObject[] = []
  for (let index = 0; index < count; index += 1) {
    // Of three objects two are another account's; every fourth has the other credential, and pairs have the same time.
    const at = begin + Math.floor(index / 2)
    const credential = index % 4 === 0 ? `${one.dialect}#2` : `${one.dialect}#1`
    for (const [whose, accountId] of [
      ['own', gateway.accountId],
      ['theirs', other.id],
      ['theirs2', other.id],
    ]) {
      const id = one.id(`${whose}${String(index).padStart(3, '0')}`)
      rows.push({
        provider: one.dialect,
        kind: one.kind,
        id,
        accountId: String(accountId),
        credential,
        at,
        dialect: index < 9 ? null : one.dialect,
      })
      shelf.put(credential.endsWith('2') ? 'sk-two' : 'sk-one', pathOf(one, id), textOf(one.show(id)))
      if (whose === 'own') ids.unshift(id)
    }
  }
  recordObjects(gateway.storeFile, rows)
  own.set(one, ids)
}

await t.test("Mistral's pages of files are selected by their number", async t => {
  const files = shelved.find(({ list }) => list === '/v1/files') as Shelved
  const ids = own.get(files) ?? []
  const page = async (query: string): Promise<readonly string[]> => {
    const { body } = await ask(files, query)
    return (JSON.parse(body.toString()) as { data: { id: string }[] }).data.map(({ id }) => id)
  }
  t.strictSame(await page('?page_size=3'), ids.slice(0, 3))
  t.strictSame(await page('?page=1&page_size=3'), ids.slice(3, 6))
  t.strictSame(await page('?page=9999'), [])
  t.match((await ask(files, '?page=1&purpose=batch')).body.toString(), /page and purpose exclude each other/)
  t.equal((await ask(files, '?page=one')).status, 400)
})

for (const one of shelved) {
  const name = `${one.dialect} ${one.kind}`
  const ids = own.get(one) ?? []

  await t.test(`${name}: the SDK pages through all objects of the account and no others`, async t => {
    t.strictSame(await one.all(gateway.key), ids)
    t.equal((await one.all(otherKey)).length, 2 * count)
    t.strictSame(await one.all(thirdKey), [], 'an account with nothing')
    t.notMatch(shelf.requests.join('\n'), gateway.key)
  })

  await t.test(`${name}: a page has the bytes of each object unchanged`, async t => {
    const { status, body } = await ask(one, '')
    t.equal(status, 200)
    const isRewritten = name === 'anthropic batch'
    for (const id of ids.slice(0, 5)) {
      const text = textOf(one.show(id)).replace(isRewritten ? shelf.origin : '', isRewritten ? publicUrl : '')
      t.ok(body.includes(text), id)
    }
    t.notMatch(body.toString(), /theirs/)
  })

  await t.test(
    `${name}: another account's object and an unknown one are refused alike as a cursor`,
    async t => {
      const cursor = (id: string): string => {
        if (one.dialect === 'google') return `?pageToken=${Buffer.from(id).toString('base64url')}`
        return `?${one.dialect === 'openai' ? 'after' : 'after_id'}=${id}`
      }
      const requestsBefore = shelf.requests.length
      const theirs = await ask(one, cursor(one.id('theirs000')))
      const unknown = await ask(one, cursor(one.id('nobody000')))
      t.equal(theirs.status, 404, theirs.body.toString())
      t.match(theirs.body.toString(), /theirs000/)
      const plain = ({ body, requestId }: typeof theirs): string =>
        body
          .toString()
          .replaceAll(/theirs|nobody/g, 'whose')
          .replaceAll(requestId, 'request')
      t.equal(plain(unknown), plain(theirs))
      t.equal(shelf.requests.length, requestsBefore, 'the provider receives no request')
    },
  )

  await t.test(`${name}: a deleted object is in no list, whether the gateway deleted it or not`, async t => {
    const first = put(one, 'first', third.id, Date.now() - 3)
    const passing = put(one, 'passing', third.id, Date.now() - 2)
    const last = put(one, 'last', third.id, Date.now() - 1)
    t.strictSame(await one.all(thirdKey), [last, passing, first])
    shelf.refusals.set(pathOf(one, passing), 404)
    t.strictSame(await one.all(thirdKey), [last, first], 'without the one that its provider lacks')
    shelf.refusals.delete(pathOf(one, passing))
    t.strictSame(await one.all(thirdKey), [last, passing, first], 'a new object may only be late')
    if (one.kind !== 'video' && one.list !== '/v1/batches') {
      const path = one.dialect === 'google' ? `/v1beta/${last}` : `${one.list}/${last}`
      const deleted = await send(gateway.url + path, {
        method: 'DELETE',
        headers: keyHeaders(one.dialect, thirdKey),
      })
      t.equal(deleted.status, 200)
      const requestsBefore = shelf.requests.length
      t.strictSame(await one.all(thirdKey), [passing, first])
      t.equal(shelf.requests.length, requestsBefore + 2, 'a deleted object is not requested')
    }
  })
}

const [files, batches] = shelved as [Shelved, Shelved]
const anthropicFiles = shelved[3] as Shelved
const googleFiles = shelved[5] as Shelved

await t.test('an object that its provider lacks is requested once, unless it is new', async t => {
  const old = put(files, 'old', third.id, Date.now() - 2 * 3_600_000)
  shelf.refusals.set(pathOf(files, old), 404)
  t.notOk((await files.all(thirdKey)).includes(old))
  shelf.refusals.delete(pathOf(files, old))
  t.notOk((await files.all(thirdKey)).includes(old))
})

await t.test("Google's files are not requested after they have expired", async t => {
  const expired = put(googleFiles, 'expired', third.id, Date.now() - 4 * day)
  const requestsBefore = shelf.requests.length
  t.notOk((await googleFiles.all(thirdKey)).includes(expired))
  t.notMatch(shelf.requests.slice(requestsBefore).join(), /expired/)
})

await t.test(
  'an object is requested with the credential that made it, and not listed without that credential',
  async t => {
    const second = put(files, 'second', third.id, Date.now(), { credential: 'openai#2' })
    const gone = put(files, 'gone', third.id, Date.now(), { credential: 'openai#9' })
    const ids = await files.all(thirdKey)
    t.ok(ids.includes(second))
    t.notOk(ids.includes(gone))
    t.ok(shelf.requests.includes(`GET ${pathOf(files, second)} sk-two`))
  },
)

await t.test("a list has the objects of its format, below a provider's path too", async t => {
  for (const one of [files, anthropicFiles]) {
    const { body } = await send(`${gateway.url}/${one.dialect}/v1/files?limit=2`, {
      method: 'GET',
      headers: keyHeaders(one.dialect, gateway.key),
    })
    const { data } = JSON.parse(body.toString()) as { readonly data: readonly { readonly id: string }[] }
    t.strictSame(
      data.map(({ id }) => id),
      own.get(one)?.slice(0, 2),
    )
  }
})

await t.test('order, limit, filters and cursors work as at the provider', async t => {
  const ids = own.get(files) ?? []
  const page = async (one: Shelved, query: string) =>
    JSON.parse((await ask(one, query)).body.toString()) as {
      readonly data: readonly { readonly id: string }[]
      readonly has_more: boolean
      readonly first_id: string | null
      readonly last_id: string | null
    }
  const idsIn = ({ data }: { readonly data: readonly { readonly id: string }[] }) => data.map(({ id }) => id)

  const oldest = await page(files, '?order=asc&limit=3')
  t.strictSame(idsIn(oldest), ids.toReversed().slice(0, 3))
  t.match(oldest, { has_more: true, first_id: ids.at(-1), last_id: ids.at(-3) })
  const end = await page(files, `?limit=3&after=${ids.at(-4)}`)
  t.strictSame(idsIn(end), ids.slice(-3))
  t.equal(end.has_more, false, 'the last page says so although it is full')
  t.match(await page(files, '?purpose=vision'), { data: [], has_more: false, first_id: null, last_id: null })
  t.equal((await page(files, '?purpose=user_data&limit=9')).data.length, 9)

  const claude = own.get(anthropicFiles) ?? []
  const before = await page(anthropicFiles, `?limit=3&before_id=${claude[10]}`)
  t.strictSame(idsIn(before), claude.slice(7, 10), 'the three in front of it, in the same order')
  t.equal(before.has_more, true)
  const named = `?ids[]=${claude[5]}&ids[]=${anthropicFiles.id('theirs001')}&ids[]=file_nobody&ids[]=${claude[2]}`
  t.strictSame(
    idsIn(await page(anthropicFiles, named)),
    [claude[2], claude[5]],
    'those of others are left out',
  )
})

await t.test('an invalid query is refused with a reason, and the provider receives no request', async t => {
  const requestsBefore = shelf.requests.length
  for (const [one, query, message] of [
    [files, '?limit=many', /limit/],
    [files, '?limit=10001', /10000/],
    [files, '?limit=5&limit=6', /twice/],
    [files, '?order=up', /asc or desc/],
    [files, `?after=${files.id('own001')}&before=${files.id('own002')}`, /exclude/],
    [batches, '?limit=101', /100/],
    [anthropicFiles, '?limit=-1', /limit/],
    [anthropicFiles, '?limit=1.5', /limit/],
    [googleFiles, '?pageSize=x', /pageSize/],
    [googleFiles, '?filter=x', /filter/],
  ] as const) {
    const { status, body } = await ask(one, query)
    t.equal(status, 400, query)
    t.match(body.toString(), message)
  }
  t.equal(
    (await ask(googleFiles, '?pageSize=100000')).status,
    200,
    'Google accepts more and returns the maximum',
  )
  t.equal(shelf.requests.length, requestsBefore + 101)
})

await t.test('a provider that fails fails the page, and the SDK retries', async t => {
  const [id = ''] = own.get(files) ?? []
  shelf.refusals.set(pathOf(files, id), 500)
  const refused = await ask(files, '')
  t.equal(refused.status, 502)
  t.match(refused.body.toString(), new RegExp(`${id}.*the provider answered 500`))
  t.ok(refused.rawHeaders.join(' ').includes('x-should-retry true'))
  const error = await openai(gateway.key)
    .files.list({}, { maxRetries: 0 })
    .catch((error: unknown) => error)
  t.ok(error instanceof APIError, String(error))
  const list = openai(gateway.key).files.list({}, { maxRetries: 3 })
  shelf.refusals.delete(pathOf(files, id))
  t.equal((await list).data[0]?.id, id)
})

await t.test(
  'a file that a listed batch names belongs to the account once the list has been read',
  async t => {
    const [batch = ''] = own.get(batches) ?? []
    shelf.put('sk-one', `/v1/files/file-of-${batch}`, '{"id":"it"}')
    shelf.put('sk-two', `/v1/files/file-of-${batch}`, '{"id":"it"}')
    await ask(batches, '?limit=1')
    t.equal((await openai(gateway.key).files.retrieve(`file-of-${batch}`)).id, 'it')
    const error = await openai(otherKey)
      .files.retrieve(`file-of-${batch}`)
      .catch((error: unknown) => error)
    t.match(error, { status: 404 })
  },
)

await t.test("without isolation the list is the provider's own", async t => {
  const single = await startTestGateway(t, { config: { ...config, isolation: 'off' } })
  for (const credential of ['sk-one', 'sk-two']) {
    shelf.put(credential, '/v1/files?limit=3', '{"object":"list","data":[{"id":"file-anybodys"}]}')
  }
  const { body } = await send(`${single.url}/v1/files?limit=3`, {
    method: 'GET',
    headers: ['authorization', `Bearer ${single.key}`],
  })
  t.match(body.toString(), /file-anybodys/)
})

await t.test('nothing was charged', async t => {
  t.same(await gateway.charges(), [])
  t.same(await gateway.breaches(), [])
})

import Database from 'better-sqlite3'
import t from 'tap'
import { dialects } from '../../lib/routes/find-route.ts'
import type { ObjectKind } from '../../lib/money/usage.ts'
import { callConfig } from '../fixtures/dialect-call.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { hasName, isServed, namingRequests, type NamingRequest } from '../fixtures/object-places.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'
import { noHoldIsLeft } from '../fixtures/exchange-ends.ts'

const upstream = await startRawUpstream(t, () =>
  plainAnswer(200, ['content-type', 'application/json'], '{"id":"resp_1"}'),
)
const everyMeter = Object.fromEntries(
  ['videoSeconds', 'images', 'characters', 'audioSeconds', 'pages', 'storageGigabyteDays'].map(name => [
    name,
    '1',
  ]),
)
const models = {
  '*': {
    provider: ['openai', 'anthropic', 'google'],
    rubPerMillion: { input: '1', output: '1' },
    rubPerUnit: everyMeter,
  },
}
const gateway = await startTestGateway(t, {
  config: callConfig(
    upstream.origin,
    {},
    {
      models,
      limits: { freeRequestsPerMinute: 1_000_000 },
    },
  ),
})
const other = await gateway.accounts.createAccount({ email: 'other@example.org' })

const collections: Partial<Record<ObjectKind, string>> = {
  cachedContent: 'cachedContents/',
  fileSearchStore: 'fileSearchStores/',
  operation: 'models/some-model/operations/',
}

function idOf(whose: string, dialectName: string, kind: ObjectKind): string {
  const isGoogle = dialectName === 'google'
  const collection = isGoogle ? { file: 'files/', batch: 'batches/', ...collections }[kind as string] : ''
  // Skills without this prefix are the provider's own.
  return `${collection ?? ''}${kind === 'skill' ? 'skill_' : ''}${whose}-1`
}

const kinds = new Set<ObjectKind>()
for (const dialect of Object.values(dialects)) {
  for (const row of dialect.routes) {
    for (const { kind } of namingRequests(dialect, row, () => 'x')) kinds.add(kind)
  }
}

const database = new Database(gateway.storeFile)
const insert = database.prepare(
  `INSERT INTO objects (provider, kind, id, account_id, credential, exchange_id, created_at)
   VALUES (?, ?, ?, ?, ?, 'x', 0)`,
)
for (const name of ['openai', 'anthropic', 'google']) {
  for (const kind of kinds) {
    insert.run(name, kind, idOf('theirs', name, kind), other.id, `${name}#1`)
    insert.run(name, kind, idOf('own', name, kind), gateway.accountId, `${name}#1`)
  }
}
// A remix of a video uses the model of the job that made the video.
database
  .prepare(
    `INSERT INTO holds (exchange_id, sequence, account_id, key_id, amount_micros, state, owner, created_at, expires_at,
       resolved_at)
     VALUES ('x', 0, ?, 'k', 0, 'released', 'o', 0, 0, 1)`,
  )
  .run(gateway.accountId)
database
  .prepare(
    `INSERT INTO jobs (provider, kind, id, exchange_id, sequence, account_id, key_id, credential, dialect, operation,
       model, facts, state, next_poll_at, deadline_at, created_at, resolved_at)
     VALUES ('openai', 'video', ?, 'x', 0, ?, 'k', 'openai#1', 'openai', 'videos', 'some-model',
       '{"upstreamModel":"some-model","priceVersions":{}}', 'released', 0, 0, 0, 1)`,
  )
  .run(idOf('own', 'openai', 'video'), gateway.accountId)
database.close()

await t.test('every route with a name in its path declares the kind of its object', t => {
  for (const dialect of Object.values(dialects)) {
    for (const row of dialect.routes) {
      if (!isServed(row) || !hasName(row) || row.operation.mintsKeys !== undefined) continue
      t.not(row.object, undefined, `${dialect.name}: ${row.methods.join(', ')} ${row.path}`)
    }
  }
  t.end()
})

await t.test('every operation with an interest reads its body', t => {
  for (const { name, routes } of Object.values(dialects)) {
    for (const { operation, path } of routes) {
      if (operation.interest === undefined) continue
      t.ok('factsFromJson' in operation || 'readJsonParts' in operation, `${name}: ${path}`)
    }
  }
  t.end()
})

await t.test('the file of a Google batch must belong to the account too', async t => {
  for (const name of ['files/theirs-1', 'files/nobody-1']) {
    const answer = await send(`${gateway.url}/v1beta/models/some-model:batchGenerateContent`, {
      headers: ['x-goog-api-key', gateway.key, 'content-type', 'application/json'],
      body: JSON.stringify({ batch: { input_config: { file_name: name } } }),
    })
    t.equal(answer.status, 404, answer.body.toString())
    t.match(answer.body.toString(), name)
  }
  t.equal(upstream.requests.length, 0)
})

// The same names may be in very many places: `npm run test:hostile` tests an eighth of the shared places, and all
// places of one operation.
const isFull = process.env['HOSTILE'] === 'full'
const isTested = (index: number, { isShared }: NamingRequest): boolean =>
  index % (isShared ? (isFull ? 8 : 128) : isFull ? 1 : 4) === 0

/** A previous response is refused in OpenAI's way, with 400; in a line of a batch it is an object like others. */
const isPreviousResponse = ({ title }: NamingRequest): boolean =>
  title.includes('previous_response_id') && !title.includes('requests.[]')

/** The parts of a response that must be equal for another account's object and for an unknown one. */
const plain = ({ body, requestId }: ClientAnswer): string =>
  body
    .toString()
    .replaceAll(/theirs|nobody/g, 'whose')
    .replaceAll(requestId, 'request')

for (const dialect of Object.values(dialects)) {
  const ask = ({ method, path, headers, body }: NamingRequest): Promise<ClientAnswer> =>
    send(gateway.url + path, {
      method,
      headers: [
        ...headers,
        ...(dialect.name === 'google' ? ['x-goog-api-key', gateway.key] : []),
        ...(dialect.name === 'google' ? [] : ['authorization', `Bearer ${gateway.key}`]),
        ...(body === undefined ? [] : ['content-type', 'application/json']),
      ],
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  for (const row of dialect.routes) {
    const naming = (whose: string): readonly NamingRequest[] =>
      namingRequests(dialect, row, (kind, part) => idOf(part === 'own' ? part : whose, dialect.name, kind))
    const unknownRequests = naming('nobody')
    const tested = [...naming('theirs').entries()].filter(([index, request]) => isTested(index, request))
    if (tested.length === 0) continue
    await t.test(
      `${dialect.name}: ${row.methods.join(', ')} ${row.path}: another account's object is refused like an unknown one`,
      async t => {
        for (const [index, request] of tested) {
          const foreign = await ask(request)
          const unknown = await ask(unknownRequests[index] as NamingRequest)
          const text = foreign.body.toString()
          // One assertion a case, since there are thousands of cases.
          t.strictSame(
            {
              status: foreign.status,
              isNotFound: /not_found|NOT_FOUND/.test(text),
              isNamedAsSent: text.includes('theirs-1'),
              body: plain(unknown),
              headers: unknown.rawHeaders.filter(isName),
              forwarded: upstream.requests.length,
            },
            {
              status: isPreviousResponse(request) ? 400 : 404,
              isNotFound: true,
              isNamedAsSent: true,
              body: plain(foreign),
              headers: foreign.rawHeaders.filter(isName),
              forwarded: 0,
            },
            request.title,
          )
        }
      },
    )
  }
}

await t.test("a URL of the provider's files counts as a name, and other URLs pass", async t => {
  const port = new URL(upstream.origin).port
  const ask = (uri: string) =>
    send(`${gateway.url}/v1beta/models/some-model:countTokens`, {
      headers: ['x-goog-api-key', gateway.key, 'content-type', 'application/json'],
      body: JSON.stringify({ contents: [{ parts: [{ file_data: { file_uri: uri } }] }] }),
    })
  for (const name of ['theirs-1', 'nobody-1']) {
    for (const uri of [
      `https://generativelanguage.googleapis.com/v1beta/files/${name}`,
      `HTTPS://GenerativeLanguage.GoogleAPIs.com.:443/v1beta/files/${name}?alt=media`,
      `https://x@generativelanguage.googleapis.com/v1/%66iles/${name}:download`,
      `http://127.0.0.1:${port}/v1beta/files/${name}`,
      `${upstream.origin}/v1beta/../v1/files/${name}`,
      ` https://generativelanguage.googleapis.com/v1beta/files/${name}`,
      `files/${name}`,
      `v1beta/files/${name}`,
      name,
    ]) {
      const answer = await ask(uri)
      t.equal(answer.status, 404, uri)
    }
  }
  t.equal(upstream.requests.length, 0)
  for (const uri of [
    'https://generativelanguage.googleapis.com/v1beta/files/own-1',
    'files/own-1',
    'https://www.youtube.com/watch?v=1',
    'https://example.org/files/theirs-1',
  ]) {
    t.equal((await ask(uri)).status, 200, uri)
  }
  t.equal(upstream.requests.length, 4)
})

await t.test('one foreign name among two thousand of the account is found', async t => {
  const ask = (last: string) => {
    const content = Array.from({ length: 2000 }, () => ({ type: 'input_file', file_id: 'own-1' }))
    content.push({ type: 'input_file', file_id: last })
    return send(`${gateway.url}/v1/responses/input_tokens`, {
      headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json'],
      body: JSON.stringify({ model: 'some-model', input: [{ role: 'user', content }] }),
    })
  }
  t.equal((await ask('own-1')).status, 200)
  const sent = upstream.requests.length
  for (const last of ['theirs-1', 'nobody-1']) {
    const { status, body } = await ask(last)
    t.equal(status, 404)
    t.match(body.toString(), last)
  }
  t.equal(upstream.requests.length, sent)
})

await t.test('nothing was charged', async t => {
  t.same(await gateway.charges(), [])
  await noHoldIsLeft(t, gateway)
  t.same(await gateway.breaches(), [])
})

function isName(_text: string, index: number): boolean {
  return index % 2 === 0
}

import t from 'tap'
import { namingMembers } from '../../lib/dialects/naming-members.ts'
import { callConfig } from '../fixtures/dialect-call.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

// Forms name the same objects as JSON does, in fields of the same names: another account's file is read, a model that
// the key may not use does the work. The fields are made from the list by which JSON is read.

const upstream = await startRawUpstream(t, () =>
  plainAnswer(200, ['content-type', 'application/json'], '{"text":"hi"}'),
)
const gateway = await startTestGateway(t, { config: callConfig(upstream.origin), keyModels: ['main-model'] })

interface Field {
  readonly name: string
  readonly value: string
  readonly filename?: string
}

function ask(path: string, fields: readonly Field[]): Promise<ClientAnswer> {
  const all: readonly Field[] = [
    { name: 'model', value: 'main-model' },
    { name: 'prompt', value: '{"file_id":"said in a prompt"}' },
    ...fields,
  ]
  const parts = all.map(({ name, value, filename }) => {
    const file = filename === undefined ? '' : `; filename="${filename}"`
    return `--b\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`
  })
  return send(gateway.url + path, {
    headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'multipart/form-data; boundary=b'],
    body: `${parts.join('')}--b--\r\n`,
  })
}

/** How SDKs and servers spell a member of a form. */
function spellings(key: string): readonly Field[] {
  const value = key.endsWith('skill_id') ? 'skill_theirs' : 'theirs'
  const json = JSON.stringify({ [key]: value })
  return [
    { name: key, value },
    { name: key.toUpperCase(), value },
    { name: `${key}[]`, value },
    { name: `input_reference[${key}]`, value },
    { name: `a.b.${key}`, value },
    { name: key, value: JSON.stringify([value]) },
    { name: 'input_reference', value: json },
    { name: 'anything', value: ` ${JSON.stringify([{ deep: { [key]: value } }])}` },
    { name: key, value, filename: 'name.txt' },
  ]
}

const paths = [
  '/v1/audio/transcriptions',
  '/v1/audio/translations',
  '/v1/images/edits',
  '/v1/images/variations',
  '/v1/videos',
]
const keys = Object.keys(namingMembers).map(key => key.replace('*', key.startsWith('*_') ? 'some' : 'some_'))

for (const path of paths) {
  await t.test(`${path}: objects in fields must be the account's own`, async t => {
    let count = 0
    for (const key of keys) {
      for (const field of spellings(key)) {
        const { status, body } = await ask(path, [field])
        count += 1
        const isRefusedForOwner =
          [403, 404].includes(status) || body.includes('"code":"previous_response_not_found"')
        if (!isRefusedForOwner) t.fail(`${JSON.stringify(field)}: ${status} ${body.toString()}`)
      }
    }
    t.comment(`${count} fields`)
    t.ok(count > 100)
    t.equal(upstream.requests.length, 0, 'nothing is forwarded')
  })
}

await t.test('a field that contains a name twice is refused', async t => {
  const { status } = await ask(paths[0] as string, [
    { name: 'extra', value: '{"file_id":"own","File_Id":"theirs"}' },
  ])
  t.equal(status, 400)
  t.equal(upstream.requests.length, 0)
})

await t.test('fields without names of objects pass', async t => {
  for (const field of [
    { name: 'language', value: 'en' },
    { name: 'timestamp_granularities[]', value: 'word' },
    { name: 'chunking_strategy', value: '{"type":"server_vad","threshold":0.5}' },
    { name: 'instructions', value: '{ is how it begins' },
    { name: 'file', value: '{"file_id":"in a file"}', filename: 'speech.json' },
  ]) {
    const { status, body } = await ask(paths[0] as string, [field])
    t.equal(status, 200, `${field.name}: ${body.toString()}`)
  }
  t.same(await gateway.breaches(), [])
})

await t.test("a field's name is read as every parser reads it", async t => {
  for (const behind of ['\ufeff', '\u00a0', '\u2028', 'x', '"', '; name="other"']) {
    const body = `--b\r\nContent-Disposition: form-data; name="model"${behind}\r\n\r\nmain-model\r\n--b--\r\n`
    const { status } = await send(`${gateway.url}/v1/audio/transcriptions`, {
      headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'multipart/form-data; boundary=b'],
      body,
    })
    t.equal(status, 400, encodeURIComponent(behind))
  }
})

await t.test('a model in another spelling counts as missing: the provider would use its default', async t => {
  for (const name of ['Model', 'MODEL', 'model[]', 'model[0]']) {
    const form = `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\nmain-model\r\n--b--\r\n`
    const { status } = await send(`${gateway.url}/v1/images/edits`, {
      headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'multipart/form-data; boundary=b'],
      body: form,
    })
    t.ok([400, 403, 404].includes(status), `${name}: ${status}`)
  }
  for (const path of ['/v1/images/generations', '/v1/chat/completions', '/v1/responses', '/v1/videos']) {
    const { status } = await send(gateway.url + path, {
      headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json'],
      body: '{"Model":"main-model","prompt":"a sea"}',
    })
    t.equal(status, 400, path)
  }
})

import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { send } from '../fixtures/http-client.ts'
import { connectRaw } from '../fixtures/raw-client.ts'
import { chunked, headLines, plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { serveProcess, type ServedProcess } from '../fixtures/serve-process.ts'
import { until } from '../fixtures/until.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const pieces = chunked(openai.events.map(event => Buffer.from(event)))

/** Sends SIGHUP to its own process when these files are loaded: one before the configuration is read, one after. */
const hangUpWhileStarting = `
  import { registerHooks } from 'node:module'
  const load = (url, context, next) => {
    if (/lib.(cli.program|gateway.gateway)[.]ts$/.test(url)) process.kill(process.pid, 'SIGHUP')
    return next(url, context)
  }
  registerHooks({ load })`

const errorLines = (gateway: ServedProcess) => gateway.lines().filter(line => line['level'] === 'error')

function ask(gateway: ServedProcess, model = 'test-model') {
  return send(`${gateway.url}/v1/chat/completions`, {
    headers: openai.keyHeader(gateway.key),
    body: openai.body(false).replace('test-model', model),
  })
}

/** Nine levels of nine references each: 387 million entries when they are expanded. */
const bomb = [
  'a: &a [x, x, x, x, x, x, x, x, x]',
  ...'bcdefghi'
    .split('')
    .map((name, n) => `${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[n]}`).join(', ')}]`),
].join('\n')

const wrong: Readonly<Record<string, (file: string, good: string) => void>> = {
  'bad YAML': (file, good) => writeFileSync(file, `${good}\n  - : {[`),
  'a duplicate key': (file, good) =>
    writeFileSync(file, `${good}\nlog: { level: info }\nlog: { level: warn }\n`),
  'an anchor bomb': (file, good) => writeFileSync(file, `${good}\n${bomb}\n`),
  'an unknown field': (file, good) => writeFileSync(file, `${good}\nlimts: { bodyMs: 1 }\n`),
  'a missing variable': (file, good) => writeFileSync(file, `${good}\npublicUrl: "\${NOT_SET_ANYWHERE}"\n`),
  'a model of an unknown provider': (file, good) =>
    writeFileSync(file, good.replace('- openai\n', '- opemai\n')),
  'half a file': (file, good) => writeFileSync(file, good.slice(0, good.indexOf('models:') + 12)),
  'an empty file': file => writeFileSync(file, ''),
  'no file': file => rmSync(file),
  'another store': (file, good) => writeFileSync(file, good.replace('data/gateway.db', 'data/other.db')),
  'NUL bytes': (file, good) => writeFileSync(file, `${good}\0\0\0`),
}

await t.test('fault 50: an invalid new configuration is reported, and the old one stays in use', async t => {
  const upstream = await startRawUpstream(t, () => plainAnswer(200, [], openai.document))
  const gateway = await serveProcess(t, { config: callConfig(upstream.origin) })
  const good = readFileSync(gateway.configFile, 'utf8')
  for (const [name, spoil] of Object.entries(wrong)) {
    await t.test(name, async t => {
      const before = errorLines(gateway).length
      spoil(gateway.configFile, good)
      gateway.child.kill('SIGHUP')
      await until(() => errorLines(gateway).length > before)
      t.equal((await ask(gateway)).status, 200)
      t.equal((await fetch(`${gateway.adminUrl}/readyz`)).status, 200)
      t.equal(errorLines(gateway).length, before + 1, 'reported once')
      t.match(errorLines(gateway).at(-1), { msg: /the old one stays/ })
    })
  }
  writeFileSync(gateway.configFile, good)
  gateway.child.kill('SIGHUP')
  await until(() => gateway.written().includes('the configuration was read again'))
  t.equal((await ask(gateway)).status, 200)
  t.same(await gateway.breaches(), [])
})

await t.test('SIGHUP during the start causes one reload after it, and does not end the process', async t => {
  const gateway = await serveProcess(t, {
    config: callConfig('http://127.0.0.1:1'),
    program: join(import.meta.dirname, '../../bin/gateway'),
    imports: [`data:text/javascript,${encodeURIComponent(hangUpWhileStarting)}`],
  })
  await until(() => gateway.written().includes('the configuration was read again'))
  const messages = gateway.lines().map(({ msg }) => msg)

  t.equal(messages.filter(message => message === 'the configuration was read again').length, 1)
  t.ok(messages.indexOf('listening') < messages.indexOf('the configuration was read again'))
  gateway.child.kill('SIGTERM')
  t.equal(await gateway.exited, 0)
})

await t.test('fault 50: streams of a removed model complete with the old configuration', async t => {
  const upstream = await startRawUpstream(t, ({ body }) =>
    body.includes('"stream":true')
      ? {
          pieces: [
            headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked']),
            ...pieces.slice(0, 2),
          ],
        }
      : plainAnswer(200, [], openai.document),
  )
  const gateway = await serveProcess(t, { config: callConfig(upstream.origin) })
  const body = openai.body(true)
  const stream = await connectRaw(t, gateway.url)
  stream.socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${gateway.key}\r\n` +
      `content-length: ${body.length}\r\n\r\n${body}`,
  )
  await stream.waitFor('upon a time')

  const good = readFileSync(gateway.configFile, 'utf8')
  const next = `${gateway.configFile}.next`
  writeFileSync(next, good.replace('"*":', 'other-model:'))
  renameSync(next, gateway.configFile)
  gateway.child.kill('SIGHUP')
  await until(() => gateway.written().includes('the configuration was read again'))

  t.equal((await ask(gateway)).status, 404)
  t.equal((await ask(gateway, 'other-model')).status, 200)
  for (const socket of upstream.openSockets) socket.write(Buffer.concat(pieces.slice(2)))
  await stream.waitFor('[DONE]')
  await until(async () => (await gateway.charges()).length === 2)
  t.match(
    (await gateway.charges()).find(charge => charge.model === 'test-model'),
    { outcome: 'completed', usage: openai.usage, amount: '0.046000' },
  )
  await until(async () => (await gateway.heldMicros()) === 0)
  t.same(await gateway.breaches(), [])
})

await t.test('a new configuration changes the level of the log', async t => {
  const upstream = await startRawUpstream(t, () => plainAnswer(200, [], openai.document))
  const gateway = await serveProcess(t, { config: callConfig(upstream.origin) })
  const exchanges = () => gateway.lines().filter(line => line['msg'] === 'exchange').length
  await ask(gateway)
  await until(() => exchanges() === 1)
  const good = readFileSync(gateway.configFile, 'utf8')

  writeFileSync(gateway.configFile, `${good}\nlog: { level: warn }\n`)
  gateway.child.kill('SIGHUP')
  await new Promise(resolve => setTimeout(resolve, 300))
  t.equal((await ask(gateway)).status, 200)

  writeFileSync(gateway.configFile, good)
  gateway.child.kill('SIGHUP')
  await until(() => gateway.written().includes('the configuration was read again'))
  await ask(gateway)
  await until(() => exchanges() === 2)
  await new Promise(resolve => setTimeout(resolve, 50))
  t.equal(exchanges(), 2)
})

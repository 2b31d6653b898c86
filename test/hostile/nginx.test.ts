import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { dialectCalls } from '../fixtures/dialect-call.ts'
import { send } from '../fixtures/http-client.ts'
import { parseAnswers, sendRaw } from '../fixtures/raw-client.ts'
import { chunked, headLines, plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'
import { freePort } from '../fixtures/free-port.ts'

// The gateway behind the nginx of docs/operating.md: a provider sends headers that nginx obeys, and clients send
// requests that nginx and the gateway could read in two ways. `NGINX` names the program where it is not in the path.

const program = process.env['NGINX'] ?? 'nginx'
const hasNginx = spawnSync(program, ['-v']).status === 0
const [openai] = dialectCalls

/** The page's config, with ports of this test, without TLS, and with a file inside that no client may read. */
function configOf(folder: string, port: number, gatewayUrl: string): string {
  const page = readFileSync(join(import.meta.dirname, '../../docs/operating.md'), 'utf8')
  const [, block = ''] = /```nginx\n(.*?)```/s.exec(page) ?? []
  const documented = block
    .replace('127.0.0.1:8080', new URL(gatewayUrl).host)
    .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
    .replaceAll(/^ *ssl_certificate.*$/gm, '')
    .replace('location / {', `location /internal/ { internal; alias ${folder}/secret/; }\n  location / {`)
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map(name => `${name}_temp_path ${folder}/${name};`)
    .join('\n')
  return `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 1024; }
http { access_log off; ${places}\n${documented} }`
}

await t.test(
  'with the documented nginx in front',
  { skip: hasNginx ? false : 'nginx is not installed here; CI says so too' },
  async t => {
    if (openai === undefined) throw new Error('There is no dialect to call.')
    const call = openai
    const plain = (extra: readonly string[] = []): ReturnType<typeof plainAnswer> =>
      plainAnswer(200, ['content-type', 'application/json', ...extra], call.document)
    const upstream = await startRawUpstream(t, () => plain())
    const gateway = await startTestGateway(t, {
      config: {
        providers: {
          openai: {
            credentials: ['c'],
            dialects: { openai: { baseUrl: `${upstream.origin}/v1` } },
            streamUsage: 'as-sent',
          },
        },
        models: { 'test-model': { provider: 'openai', rubPerMillion: { input: '1000', output: '1000' } } },
        trustedProxies: ['127.0.0.1'],
      },
    })
    const folder = mkdtempSync(join(tmpdir(), 'gw-nginx-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    mkdirSync(join(folder, 'secret'))
    writeFileSync(join(folder, 'secret', 'file'), 'the secret')
    const port = await freePort()
    writeFileSync(join(folder, 'nginx.conf'), configOf(folder, port, gateway.url))
    const nginx = spawn(program, ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'ignore' })
    t.teardown(async () => {
      nginx.kill('SIGTERM')
      if (nginx.exitCode === null) await once(nginx, 'exit')
    })
    const url = `http://127.0.0.1:${port}`
    const key = ['authorization', `Bearer ${gateway.key}`]
    const ask = (isStreaming = false, headers: readonly string[] = []) =>
      send(url + call.path(isStreaming), { headers: [...key, ...headers], body: call.body(isStreaming) })
    await until(async () => {
      if (nginx.exitCode !== null) throw new Error(readFileSync(join(folder, 'error.log'), 'utf8'))
      return await ask().then(
        ({ status }) => status === 200,
        () => false,
      )
    })

    await t.test('a response after informational ones is whole', async t => {
      const early = [headLines(102, []), headLines(103, ['link', '</a>; rel=preload'])]
      upstream.answer = () => ({ pieces: [...early, ...plain().pieces] })
      const { status, body } = await ask()
      t.equal(status, 200)
      t.equal(body.toString(), call.document)
      upstream.answer = () => plain()
    })

    await t.test('a provider cannot make nginx serve its files', async t => {
      for (const order of ['x-accel-redirect', 'X-Accel-Redirect', 'x-sendfile']) {
        upstream.answer = () => plain([order, '/internal/file'])
        const { body } = await ask()
        t.equal(body.toString(), call.document, order)
      }
      upstream.answer = () => plain()
    })

    await t.test('a stream arrives as it is written', async t => {
      const pieces = [
        headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked']),
        ...chunked(call.events.map(event => Buffer.from(event))),
      ]
      upstream.answer = () => ({ pieces })
      const { status, body, isWhole } = await ask(true)
      t.equal(status, 200)
      t.equal(body.toString(), call.events.join(''))
      t.ok(isWhole)
      upstream.answer = () => plain()
    })

    await t.test('an ambiguous request is one request or none', async t => {
      const body = call.body(false)
      const hidden = `POST ${call.path(false)} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${gateway.key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
      for (const framing of [
        `content-length: ${body.length}\r\ntransfer-encoding: chunked`,
        `content-length: ${body.length}\r\ncontent-length: ${body.length + hidden.length}`,
        `transfer-encoding: chunked\r\ntransfer-encoding: identity`,
        `transfer-encoding: xchunked\r\ncontent-length: ${body.length}`,
        `content_length: 0\r\ncontent-length: ${body.length + hidden.length}`,
        `connection: upgrade\r\nupgrade: h2c\r\ncontent-length: ${body.length + hidden.length}`,
      ]) {
        const before = upstream.requests.length
        await sendRaw(
          t,
          url,
          `POST ${call.path(false)} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${gateway.key}\r\n${framing}\r\n\r\n${body}${hidden}`,
        )
        const sent = upstream.requests.slice(before)
        t.ok(sent.length <= 1, `${framing}: ${sent.length}`)
      }
    })

    await t.test('pipelined requests each get a response, and are charged once', async t => {
      const charged = (await gateway.charges()).length
      const body = call.body(false)
      const one = `POST ${call.path(false)} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${gateway.key}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`
      const { bytes } = await sendRaw(t, url, `${one}\r\n${body}${one}connection: close\r\n\r\n${body}`)
      t.same(
        parseAnswers(bytes).map(({ status }) => status),
        [200, 200],
      )
      await until(async () => (await gateway.charges()).length === charged + 2)
      t.same(await gateway.breaches(), [])
    })
  },
)

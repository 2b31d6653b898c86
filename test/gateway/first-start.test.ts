import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import type { ChargeReport } from '../../lib/ledger/reports.ts'
import { startBrowser } from '../fixtures/browser.ts'
import { install, type CommandResult } from '../fixtures/installation.ts'
import { until } from '../fixtures/until.ts'

/** Runs a line in a shell, as a person would paste it. */
async function paste(line: string): Promise<CommandResult> {
  const child = spawn('sh', ['-c', line], { stdio: ['ignore', 'pipe', 'pipe'] })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number]
  return { code, stdout, stderr }
}

/** Whether a line of the first screen is the command in OpenAI's format. */
const isCommand = (line: string): boolean => /^ +curl \S+\/v1\/chat\/completions /.test(line)
const isLogLine = (line: string): boolean => line.startsWith('{')

await t.test('the shipped config starts with nothing configured, and prints how to try it, once', async t => {
  const installation = install(t)
  const first = await installation.serve()
  await until(() => first.lines.some(isCommand))
  const commands = first.lines.filter(isCommand)
  t.equal(commands.length, 1)
  t.ok(existsSync(join(installation.folder, 'data', 'gateway.db')), 'the store is where the config says')

  await t.test('the command, pasted into a shell, receives a response and is charged', async t => {
    const { code, stdout, stderr } = await paste(commands[0] ?? '')
    t.equal(code, 0, stderr)
    const answer = JSON.parse(stdout) as { choices: [{ message: { content: string } }]; usage: object }
    t.ok(answer.choices[0].message.content.length > 0, stdout)
    t.match(answer.usage, { prompt_tokens: Number, completion_tokens: Number })
    const charges = await installation.json<ChargeReport>('charges')
    t.equal(charges.length, 1)
    t.match(charges[0], { provider: 'sandbox', model: 'sandbox-chat', outcome: 'completed', flags: [] })
    t.ok(Number(charges[0]?.amount) > 0)
    t.match(await installation.json('account', 'list'), [{ email: 'demo@sandbox.invalid' }])
  })

  await t.test('the key of the command works only for the sandbox', async t => {
    const { stdout } = await paste((commands[0] ?? '').replace('sandbox-chat', 'gpt-5-mini'))
    t.match(JSON.parse(stdout), { error: { code: 'permission_denied' } })
  })

  await t.test('the commands for the other formats and the sign-in to the account area work', async t => {
    const screen = first.lines.filter(line => !isLogLine(line)).join('\n')
    for (const line of screen.split('\n').filter(line => line.startsWith('  curl') && !isCommand(line))) {
      const { code, stdout } = await paste(line)
      t.equal(code, 0)
      t.match(JSON.parse(stdout), line.includes('/messages') ? { type: 'message' } : { candidates: [{}] })
    }
    const [, page, email, password] =
      /(http:\S+) {3}sign in as (\S+) with the password (\S+)/.exec(screen) ?? []
    const browser = await startBrowser(t)
    const tab = await browser.newPage()
    await tab.goto(`${page}/sign-in`)
    await tab.fill('input[name=email]', String(email))
    await tab.fill('input[name=password]', String(password))
    await tab.press('input[name=password]', 'Enter')
    await tab.waitForURL(url => !url.pathname.includes('sign-in'))
    t.match(await tab.textContent('body'), email)
    const metrics = /http:\S+\/metrics/.exec(screen)?.[0]
    t.equal((await fetch(String(metrics))).status, 200)
  })

  await t.test('log lines are JSON, without the key and the password', async t => {
    const screen = first.lines.filter(line => !isLogLine(line)).join('\n')
    const key = /gw-[A-Za-z0-9_-]{43}/.exec(commands[0] ?? '')?.[0]
    const password = /with the password (\S+)/.exec(screen)?.[1]
    t.ok(key)
    t.ok(password)
    for (const line of first.lines.filter(isLogLine)) {
      t.doesNotThrow(() => JSON.parse(line) as unknown, line)
      t.notOk(line.includes(String(key)) || line.includes(String(password)))
    }
  })

  await t.test(
    'a second serve on the same store refuses, says why, and does not disturb the first',
    async t => {
      const { code, stderr, stdout } = await installation.run('serve')
      t.equal(code, 1)
      t.equal(stdout, '')
      t.match(stderr, /^gateway: .*(already|another).*/m)
      t.match(stderr, /gateway\.db/)
      t.notMatch(stderr, /\n {4}at /, 'no stack')
      t.equal((await paste(commands[0] ?? '')).code, 0)
    },
  )

  await t.test('SIGTERM exits with 0, and the second start prints no commands', async t => {
    t.equal(await first.stop('SIGTERM'), 0)
    t.match(first.lines.at(-1), /"msg":"stopped"/)
    const second = await installation.serve()
    // It still has the account, the key and the charges of the first.
    const line = (commands[0] ?? '').replace(first.url, second.url)
    t.equal((await paste(line)).code, 0)
    t.equal((await installation.json('charges')).length, 5)
    t.notOk(second.lines.some(isCommand))
    t.equal(await second.stop('SIGINT'), 0, 'SIGINT as well')
    t.equal((await installation.run('verify')).code, 0)
  })
})

await t.test('the error for a port in use names the setting, and no store is created', async t => {
  const installation = install(t)
  const occupant = createServer().listen(0, '127.0.0.1')
  t.teardown(() => occupant.close())
  await once(occupant, 'listening')
  const { port } = occupant.address() as AddressInfo
  installation.edit('gateway.yaml', text => text.replace('port: 0', `port: ${port}`))

  const { code, stderr } = await installation.run('serve')

  t.equal(code, 1)
  t.match(
    stderr,
    `gateway: listen: 127.0.0.1:${port} is taken by another program; stop that one, or set listen.port in `,
  )
  t.notOk(existsSync(join(installation.folder, 'data')), 'the next start can still create the demo account')
})

await t.test(
  'a config with a credential of a provider prints no commands and creates no demo account',
  async t => {
    const installation = install(t)
    installation.edit('providers.yaml', text => text.replace("'${OPENAI_API_KEY}'", 'sk-of-an-operator'))
    const serving = await installation.serve()
    t.notOk(serving.lines.some(isCommand))
    t.same(await installation.json('account', 'list'), [])
    t.equal(await serving.stop(), 0)
  },
)

await t.test('SIGTERM lets a running response end', async t => {
  const installation = install(t)
  const serving = await installation.serve()
  await until(() => serving.lines.some(isCommand))
  const key = /gw-[A-Za-z0-9_-]{43}/.exec(serving.lines.find(isCommand) ?? '')?.[0]
  const { hostname, port } = new URL(serving.url)
  const silent = connect(Number(port), hostname)
  t.teardown(() => silent.destroy())
  await once(silent, 'connect')
  const response = await slowStream(serving.url, key)
  serving.child.kill('SIGTERM')
  t.match(await response.text(), /data: \[DONE\]\n\n$/)
  const answeredAt = performance.now()
  t.equal(await serving.ended, 0)
  t.ok(performance.now() - answeredAt < 20_000, 'unused connections do not delay the exit')
  t.match(await installation.json('charges'), [{ outcome: 'completed' }])
})

await t.test('kill -9 during a request: the next start releases its hold and says so', async t => {
  const installation = install(t)
  const serving = await installation.serve()
  await until(() => serving.lines.some(isCommand))
  const line = serving.lines.find(isCommand) ?? ''
  const key = /gw-[A-Za-z0-9_-]{43}/.exec(line)?.[0]
  const response = await slowStream(serving.url, key)
  const requestId = response.headers.get('x-gateway-request-id')
  t.equal(await serving.stop('SIGKILL'), 'SIGKILL')
  await t.rejects(response.text(), 'the response is cut')

  const again = await installation.serve()
  const released = again.lines.filter(line => line.includes('released a hold'))
  t.equal(released.length, 1)
  t.match(released[0], `"exchangeId":"${requestId}"`)
  t.equal((await paste(line.replace(serving.url, again.url))).code, 0)
  const [account] = await installation.json<{ id: string }>('account', 'list')
  const [balance] = await installation.json<{ held: string; balance: string }>(
    'balance',
    '--account',
    account?.id ?? '',
  )
  t.equal(balance?.held, '0.000000')
  const charges = await installation.json<ChargeReport>('charges')
  t.equal(charges.length, 1, 'the cut request is not charged')
  t.equal(Number(balance?.balance), 100 - Number(charges[0]?.amount))
  t.equal((await installation.run('verify')).code, 0)
  t.equal(await again.stop(), 0)
})

/** Begins a stream that takes a while; resolves with its head. */
async function slowStream(url: string, key: string | undefined): Promise<Response> {
  return await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'sandbox-slow',
      stream: true,
      messages: [{ role: 'user', content: 'Tell me something' }],
    }),
  })
}

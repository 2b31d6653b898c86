import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import { runGateway, runHere, writeConfig } from './run-gateway.ts'
import { plainNode, processEnvironment } from '../fixtures/process-environment.ts'

const bin = join(import.meta.dirname, '../../bin/gateway.ts')

/** A gateway in a process of its own, with its output on stderr. */
async function serve(t: Test, config: string) {
  const child = spawn('env', [...plainNode, bin, 'serve', '--config', config], {
    env: processEnvironment,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let written = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (written += text))
  const exited = new Promise<number | null>(resolve => child.once('exit', code => resolve(code)))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const until = async (pattern: RegExp): Promise<string> => {
    for (let waited = 0; waited < 400; waited += 1) {
      const found = pattern.exec(written)
      if (found !== null) return found[1] ?? found[0]
      await delay(25)
    }
    throw new Error(`nothing like ${String(pattern)} in:\n${written}`)
  }
  return { child, exited, until, url: await until(/"url":"([^"]+)"/) }
}

await t.test(
  'serve runs until SIGTERM, accepts changes from the command line and refuses a second server',
  async t => {
    const { config, store } = writeConfig(t.testdir())
    const { child, exited, until, url } = await serve(t, config)

    const curl = await until(/^ *(curl .*)$/m)
    t.match(curl, `curl ${url}/v1/chat/completions`, 'a new store comes with a command that tries it')
    const [, demoKey = ''] = /Bearer (gw-[\w-]+)/.exec(curl) ?? []
    const headers = { authorization: `Bearer ${demoKey}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }] })
    const ask = () => fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
    t.match(await ask(), { status: 200 })

    const charges = await runHere(['charges', '--config', config, '--json'])
    t.match(JSON.parse(charges.stdout), {
      requestId: /./,
      at: /^\d{4}-.*Z$/,
      key: /./,
      provider: 'sandbox',
      model: 'sandbox-chat',
      dialect: 'openai',
      operation: 'chat',
      outcome: 'completed',
      usage: { input: Number, output: Number },
      usageSource: 'provider',
      lines: [{ model: 'sandbox-chat', meters: { input: Number }, priceVersion: /./, amount: /^0\.\d{6}$/ }],
      amount: /^0\.\d{6}$/,
      flags: [],
    })
    t.match(await runHere(['charges', '--config', config]), {
      stdout: /sandbox-chat +chat +completed +input \d/,
    })

    t.match(await runGateway(['serve', '--config', config]), { code: 1, stderr: /one writer/ })
    const keys = await runHere([
      'key',
      'list',
      '--config',
      config,
      '--account',
      accountOf(charges.stdout),
      '--json',
    ])
    const { id } = JSON.parse(keys.stdout) as { id: string }
    t.match(await runGateway(['key', 'revoke', id, '--config', config]), { code: 0 })
    t.match(await ask(), { status: 401 }, 'the key is invalid when the command returns')

    child.kill('SIGTERM')
    t.equal(await exited, 0)
    t.notOk(existsSync(`${store}.sock`))
    t.match(await runHere(['verify', '--config', config]), { code: 0 })
  },
)

await t.test('SIGHUP loads a new configuration, and an invalid one changes nothing', async t => {
  const { config } = writeConfig(t.testdir())
  const { child, exited, until, url } = await serve(t, config)
  const [, demoKey = ''] = /Bearer (gw-[\w-]+)/.exec(await until(/^ *(curl .*)$/m)) ?? []
  const models = async () => {
    const answer = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${demoKey}` } })
    return (await answer.json()) as { data: { id: string }[] }
  }
  t.same(
    (await models()).data.map(model => model.id),
    ['sandbox-chat'],
  )

  const before = readFileSync(config, 'utf8')
  appendFileSync(config, 'litsen: 1\n')
  child.kill('SIGHUP')
  await until(/litsen: unknown key/)
  t.same(
    (await models()).data.map(model => model.id),
    ['sandbox-chat'],
  )

  writeFileSync(
    config,
    before.replace(
      'models: { ',
      'models: { sandbox-new: { provider: sandbox, rubPerMillion: { output: "1" } }, ',
    ),
  )
  child.kill('SIGHUP')
  await until(/configuration was read again/)
  t.same((await models()).data.map(model => model.id).sort(), ['sandbox-chat', 'sandbox-new'])

  child.kill('SIGINT')
  t.equal(await exited, 0)
})

function accountOf(charge: string): string {
  return (JSON.parse(charge) as { account: string }).account
}

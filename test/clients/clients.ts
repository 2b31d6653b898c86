import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { startClientGateway, words } from './client-gateway.ts'
import type { Client } from './client.ts'
import { commandLineClients } from './command-line-clients.ts'
import { libraryClients } from './library-clients.ts'
import { faultsTable, triedTable, withTable } from './client-tables.ts'
import type { Seen } from './client-tables.ts'
import { isShipped, ownModels } from './own-models.ts'
import { beginFaults, endFaults } from './see-faults.ts'
import type { Ask } from './see-faults.ts'
import { sdkClients } from './sdk-clients.ts'

// Real clients of pinned versions, each in a folder of its own, driven through the gateway to a third-party emulator.
// CLIENTS_FOLDER keeps the installations; names after the command run only these clients.
const kept = process.env['CLIENTS_FOLDER']
const folder = kept ?? mkdtempSync(join(tmpdir(), 'clients-'))
if (kept === undefined) t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const only = process.argv.slice(2)

interface Finished {
  readonly code: number | null
  readonly output: string
}

async function run(
  command: readonly string[],
  options: {
    readonly cwd: string
    readonly env: Readonly<Record<string, string>>
    readonly timeoutMs?: number
  },
): Promise<Finished> {
  const [file = '', ...rest] = command
  const { cwd, env, timeoutMs = 180_000 } = options
  // Some start other processes, which would go on without them and keep the pipes open: they end as one group.
  const child = spawn(file, rest, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const timer = setTimeout(() => killGroup(child.pid), timeoutMs)
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  try {
    const [code] = (await once(child, 'close')) as [number | null]
    return { code, output }
  } finally {
    clearTimeout(timer)
  }
}

/** Its last process may have just ended. */
function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** With a slow mirror and a busy machine Python's packages take minutes. */
const installMs = 600_000

async function install({
  name,
  folder: own = name,
  packages,
  isPython,
  afterInstall,
}: Client): Promise<string> {
  const home = join(folder, own)
  // An installation that was cut off leaves a folder that looks complete.
  const mark = join(home, '.installed')
  if (existsSync(mark)) return home
  rmSync(home, { recursive: true, force: true })
  mkdirSync(home, { recursive: true })
  if (isPython !== true) writeFileSync(join(home, 'package.json'), '{ "private": true }')
  const commands =
    isPython === true
      ? [
          ['python3', '-m', 'venv', home],
          [join(home, 'bin/python'), '-m', 'pip', 'install', '--quiet', ...packages],
        ]
      : [['npm', 'install', '--save-exact', '--no-audit', '--no-fund', ...packages]]
  for (const command of [...commands, ...(afterInstall === undefined ? [] : [afterInstall])]) {
    const env = process.env as Record<string, string>
    const { code, output } = await run(command, { cwd: home, env, timeoutMs: installMs })
    if (code !== 0) throw new Error(`${command.join(' ')}, for ${name}: ${output}`)
  }
  writeFileSync(mark, '')
  return home
}

interface Place {
  readonly installed: string
  readonly url: string
}

/** Sets the client up as docs/clients.md says, in a home folder of its own, and gives it one prompt. */
function asking(t: Test, client: Client, { installed, url }: Place): Ask {
  const home = mkdtempSync(join(tmpdir(), 'client-home-'))
  t.teardown(() => rmSync(home, { recursive: true, force: true }))
  const isPython = client.isPython === true
  const script = join(installed, `${client.name}.${isPython ? 'py' : 'mjs'}`)
  if (client.script !== undefined) writeFileSync(script, client.script)
  const interpreter = isPython ? join(installed, 'bin/python') : 'node'
  return async (prompt, key, timeoutMs) => {
    for (const [file, text] of Object.entries(client.files?.({ url, key }) ?? {})) {
      mkdirSync(dirname(join(home, file)), { recursive: true })
      writeFileSync(join(home, file), text)
    }
    const env = {
      PATH: `${join(installed, 'node_modules/.bin')}:${process.env['PATH'] ?? ''}`,
      HOME: home,
      GATEWAY_URL: url,
      GATEWAY_KEY: key,
      ...client.env?.({ url, key }),
    }
    return run(client.command?.(prompt) ?? [interpreter, script, prompt], { cwd: home, env, timeoutMs })
  }
}

/** The clients that succeeded in this run. */
const driven: Driven[] = []
/** Waits between a client's tries outlive its own test. */
const root = t

async function drive(t: Test, client: Client): Promise<void> {
  const installed = await install(client)
  const known = ownModels(client, installed)
  t.equal(known.length > 0, client.models !== undefined, `its source names ${known.join(', ') || 'no model'}`)
  for (const name of known) t.ok(isShipped(name), `${name} is in the catalogue`)
  const gateway = await startClientGateway(t, client.tool)
  const ask = asking(t, client, { installed, url: gateway.url })
  for (const [prompt, expected] of [
    ['Say hello.', words.text],
    ['Please use the tool.', words.afterTool],
  ] as const) {
    const { code, output } = await ask(prompt, gateway.key, 180_000)
    t.equal(code, 0, `${prompt} exits 0`)
    if (!t.ok(output.includes(expected), `${prompt} gets the reply`)) t.comment(output.slice(-3000))
  }
  const charges = await gateway.charges()
  t.equal(charges.length, gateway.answered(), 'a charge for each response')
  t.ok(charges.length >= 3, 'a text, a call of the tool, and the text after it')
  for (const { usage, flags, amount, model } of charges) {
    t.same({ usage, flags }, { usage: { input: 1200, output: 34 }, flags: [] }, `${model} ${amount}`)
  }
  const isStreamed = gateway.mock.getRequests().some(({ method, path, body }) => {
    const { stream } = body as { stream?: boolean }
    return method === 'WS' || path.includes('stream') || stream === true
  })
  t.ok(isStreamed, 'it streams')
  t.same(
    gateway.logLines.filter(line => line.includes('"alarm":')),
    [],
    'no alarm is raised',
  )
  const models = [...new Set(charges.map(({ model }) => model))]
  t.same(await gateway.breaches(), [], 'the ledger is in order')
  if (!t.passing()) return
  if (process.env['CLIENTS_FAULTS'] === 'no') return
  const met = await beginFaults(async () => {
    const other = await startClientGateway(root, client.tool)
    return { gateway: other, ask: asking(root, client, { installed, url: other.url }) }
  })
  driven.push({ client, models, met })
}

interface Driven {
  readonly client: Client
  readonly models: readonly string[]
  /** The faults that it meets, which may take minutes. */
  readonly met: Awaited<ReturnType<typeof beginFaults>>
}

t.setTimeout(0)
// The Python clients run where pip is available.
const hasPip = spawnSync('python3', ['-m', 'pip', '--version']).status === 0
const everyClient = [...commandLineClients, ...sdkClients, ...libraryClients]
const all = everyClient.filter(({ isPython }) => hasPip || isPython !== true)
const unknown = only.find(name => all.every(client => client.name !== name))
if (unknown !== undefined)
  throw new Error(`There is no client ${unknown}, only: ${all.map(({ name }) => name).join(', ')}.`)
for (const client of all) {
  if (only.length > 0 && !only.includes(client.name)) continue
  await t.test(client.name, { timeout: 900_000 }, t => drive(t, client))
}

await t.test('clients report refusals and cuts', { timeout: 600_000 }, async t => {
  const seen: Seen[] = []
  for (const { client, models, met } of driven) {
    await t.test(client.name, { timeout: 300_000 }, async t => {
      const faults = await endFaults(t, met)
      if (t.passing()) seen.push({ client, models, faults })
    })
  }
  writeTables(seen)
})

/** Writes the results between the markers of the page, for the clients that succeeded. */
function writeTables(seen: readonly Seen[]): void {
  const page = join(import.meta.dirname, '../../docs/clients.md')
  const order = everyClient.map(({ title }) => title)
  const tables = [triedTable(seen), faultsTable(seen)]
  const text = tables.reduce((before, table) => withTable(before, table, order), readFileSync(page, 'utf8'))
  writeFileSync(page, text)
  spawnSync('oxfmt', [page], { stdio: 'inherit' })
}

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
import { seeFaults } from './see-faults.ts'
import type { Ask } from './see-faults.ts'
import { sdkClients } from './sdk-clients.ts'

// Real clients of pinned versions, each in a folder of its own, driven through the gateway to an emulator that
// nobody here wrote. CLIENTS_FOLDER keeps what was installed; a name after the command runs that client alone.
const folder = process.env['CLIENTS_FOLDER'] ?? mkdtempSync(join(tmpdir(), 'clients-'))
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
  // Some begin others, which would go on without them and keep the pipes open: they end as one group.
  const child = spawn(file, rest, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const timer = setTimeout(() => process.kill(-(child.pid as number), 'SIGKILL'), timeoutMs)
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  clearTimeout(timer)
  return { code, output }
}

async function install({
  name,
  folder: own = name,
  packages,
  isPython,
  afterInstall,
}: Client): Promise<string> {
  const home = join(folder, own)
  const isThere = existsSync(join(home, isPython === true ? 'bin/python' : 'node_modules'))
  if (isThere) return home
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
    const { code, output } = await run(command, { cwd: home, env: process.env as Record<string, string> })
    if (code !== 0) throw new Error(`${command.join(' ')}, for ${name}: ${output}`)
  }
  return home
}

interface Place {
  readonly installed: string
  readonly url: string
}

/** Sets the client up as docs/clients.md says, in a home that holds nothing else, and asks it one thing. */
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

type Kept = Omit<Seen, 'client'> & { readonly packages: readonly string[] }

/** Keeps what was seen of a client, so that the tables can be written when the others were seen at other times. */
function keepSeen(folder: string, { client, models, faults }: Seen): void {
  mkdirSync(join(folder, 'seen'), { recursive: true })
  const kept: Kept = { packages: client.packages, models, faults }
  writeFileSync(fileOf(folder, client), JSON.stringify(kept))
}

/** What was seen of this version of a client. */
function seenBefore(folder: string, client: Client): Seen | undefined {
  const file = fileOf(folder, client)
  if (!existsSync(file)) return undefined
  const { packages, models, faults } = JSON.parse(readFileSync(file, 'utf8')) as Kept
  return packages.join() === client.packages.join() ? { client, models, faults } : undefined
}

function fileOf(folder: string, { name }: Client): string {
  return join(folder, 'seen', `${name}.json`)
}

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
    t.equal(code, 0, `${prompt} ends well`)
    if (!t.ok(output.includes(expected), `${prompt} is answered`)) t.comment(output.slice(-3000))
  }
  const charges = await gateway.charges()
  t.equal(charges.length, gateway.answered(), 'a charge for each answer')
  t.ok(charges.length >= 3, 'a text, a call of the tool, and what came after it')
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
    'nothing alarms',
  )
  const models = [...new Set(charges.map(({ model }) => model))]
  const faults =
    process.env['CLIENTS_FAULTS'] === 'no'
      ? []
      : await seeFaults(t, async () => {
          const other = await startClientGateway(t, client.tool)
          return { gateway: other, ask: asking(t, client, { installed, url: other.url }) }
        })
  if (t.passing()) keepSeen(folder, { client, models, faults })
  t.same(await gateway.breaches(), [], 'the ledger is in order')
}

t.setTimeout(0)
// Python's are run where its installer is at hand.
const hasPip = spawnSync('python3', ['-m', 'pip', '--version']).status === 0
const all = [...commandLineClients, ...sdkClients, ...libraryClients].filter(
  ({ isPython }) => hasPip || isPython !== true,
)
const unknown = only.find(name => all.every(client => client.name !== name))
if (unknown !== undefined)
  throw new Error(`No client is called ${unknown}, only: ${all.map(({ name }) => name).join(', ')}.`)
for (const client of all) {
  if (only.length > 0 && !only.includes(client.name)) continue
  await t.test(client.name, { timeout: 900_000 }, t => drive(t, client))
}

writeTables()

/** Puts what was tried, and how refusals look, between the marks of the page, when all of them were seen. */
function writeTables(): void {
  const seen = all.map(client => seenBefore(folder, client)).filter(one => one !== undefined)
  if (seen.length < all.length) return
  const page = join(import.meta.dirname, '../../docs/clients.md')
  const text = readFileSync(page, 'utf8')
  const tried = withTable(text, 'tried', triedTable(seen))
  writeFileSync(page, withTable(tried, 'refused', faultsTable(seen)))
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { startClientGateway, words } from './client-gateway.ts'
import type { Client } from './client.ts'
import { commandLineClients } from './command-line-clients.ts'
import { libraryClients } from './library-clients.ts'

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
  options: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<Finished> {
  const [file = '', ...rest] = command
  const child = spawn(file, rest, { ...options, stdio: ['ignore', 'pipe', 'pipe'], timeout: 180_000 })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, output }
}

async function install({ name, folder: own = name, packages, afterInstall }: Client): Promise<string> {
  const home = join(folder, own)
  if (existsSync(join(home, 'node_modules'))) return home
  mkdirSync(home, { recursive: true })
  writeFileSync(join(home, 'package.json'), '{ "private": true }')
  const env = process.env as Record<string, string>
  const installed = await run(['npm', 'install', '--save-exact', '--no-audit', '--no-fund', ...packages], {
    cwd: home,
    env,
  })
  if (installed.code !== 0) throw new Error(`npm install for ${name}: ${installed.output}`)
  if (afterInstall !== undefined) await run(afterInstall, { cwd: home, env })
  return home
}

/** What was seen of each client, for the table of docs/clients.md. */
const seen: { readonly client: Client; readonly models: readonly string[] }[] = []

async function drive(t: Test, client: Client): Promise<void> {
  const installed = await install(client)
  const gateway = await startClientGateway(t, client.tool)
  const { url, key } = gateway
  const home = mkdtempSync(join(tmpdir(), 'client-home-'))
  t.teardown(() => rmSync(home, { recursive: true, force: true }))
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
  const script = join(installed, `${client.name}.mjs`)
  if (client.script !== undefined) writeFileSync(script, client.script)
  for (const [prompt, expected] of [
    ['Say hello.', words.text],
    ['Please use the tool.', words.afterTool],
  ] as const) {
    const { code, output } = await run(client.command?.(prompt) ?? ['node', script, prompt], {
      cwd: home,
      env,
    })
    t.equal(code, 0, `${prompt} ends well`)
    if (!t.ok(output.includes(expected), `${prompt} is answered`)) t.comment(output.slice(-3000))
  }
  const charges = await gateway.charges()
  t.equal(charges.length, gateway.answered(), 'a charge for each answer')
  t.ok(charges.length >= 3, 'a text, a call of the tool, and what came after it')
  for (const { usage, flags, amount, model } of charges) {
    t.same({ usage, flags }, { usage: { input: 1200, output: 34 }, flags: [] }, `${model} ${amount}`)
  }
  seen.push({ client, models: [...new Set(charges.map(({ model }) => model))] })
  t.same(await gateway.breaches(), [], 'the ledger is in order')
}

t.setTimeout(0)
for (const client of [...commandLineClients, ...libraryClients]) {
  if (only.length > 0 && !only.includes(client.name)) continue
  await t.test(client.name, { timeout: 600_000 }, t => drive(t, client))
}

if (only.length === 0 && t.passing()) writeTable()

/** Puts what was tried between two marks of the page. */
function writeTable(): void {
  const page = join(import.meta.dirname, '../../docs/clients.md')
  const rows = seen.map(
    ({ client, models }) =>
      `| ${client.title} | ${client.packages.map(name => `\`${name}\``).join(', ')} | ${models.map(name => `\`${name}\``).join(', ')} | text, stream, tool |`,
  )
  const table = [
    '| client | what was run | models it asked for | tried |',
    '| --- | --- | --- | --- |',
    ...rows,
  ].join('\n')
  const text = readFileSync(page, 'utf8')
  const [before, after] = [text.indexOf('<!-- tried -->'), text.indexOf('<!-- /tried -->')]
  if (before === -1 || after === -1) throw new Error(`${page} has no place for the table`)
  writeFileSync(page, `${text.slice(0, before)}<!-- tried -->\n\n${table}\n\n${text.slice(after)}`)
}

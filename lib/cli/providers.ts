import type { Command } from 'commander'
import { readSwitches, switchProvider, type ProviderAction } from '../administration/provider-switches.ts'
import { mergeHealth, type MergedProvider } from '../upstream/provider-health.ts'
import { answer, addCommand, CommandError, formatTable } from './command.ts'
import type { SharedOptions, CliContext } from './command.ts'
import { operatorName, reasonText } from './arguments.ts'
import { openProviderNames, openStoreSetting } from './open-config.ts'
import { readRecords, withRecords } from './with-store.ts'

interface SwitchOptions extends SharedOptions {
  readonly credential?: string
  readonly reason: string
}

const actions: Readonly<Record<ProviderAction, { readonly about: string; readonly done: string }>> = {
  pause: {
    about: 'send no new requests of clients there; what runs is finished, jobs are polled on',
    done: 'is paused',
  },
  resume: { about: 'end a pause', done: 'is resumed' },
  try: { about: 'end a cooldown: the next request finds out whether it works', done: 'is tried again' },
}

/** `providers`: the state of providers, and the pauses that operators set. */
export function fillProviders(providers: Command, context: CliContext): void {
  addList(providers, context)
  for (const action of ['pause', 'resume', 'try'] as const) addSwitch(providers, context, action)
}

function addSwitch(providers: Command, { stdout }: CliContext, action: ProviderAction): void {
  const { about, done } = actions[action]
  addCommand(providers, `${action} <provider>`, about)
    .option('--credential <name>', 'only this one, such as openai#OPENAI_API_KEY')
    .requiredOption('--reason <text>', 'for the log')
    .action(async (provider: string, options: SwitchOptions) => {
      const { credential = '' } = options
      const reason = reasonText(options.reason)
      await requireKnown(options, provider, credential)
      const order = { action, provider, credential, reason, operator: operatorName() }
      await withRecords(options, (records, now) => switchProvider(records, order, now))
      const name = credential === '' ? provider : credential
      answer(
        stdout,
        options,
        { action, provider, credential: credential === '' ? null : credential },
        `${name} ${done}: a running gateway acts by it within a second\n`,
      )
    })
}

/** @throws CommandError when the configuration or the running gateway has no such provider or credential */
async function requireKnown(options: SharedOptions, provider: string, credential: string): Promise<void> {
  const names = openProviderNames(options)
  if (!names.includes(provider)) {
    throw new CommandError(
      `the configuration has no provider "${provider}": gateway providers list shows them all`,
    )
  }
  if (credential === '') return
  const known = (await runningHealth(options))?.find(one => one.name === provider)?.credentials
  const isKnown =
    known === undefined ? credential.startsWith(`${provider}#`) : known.some(one => one.name === credential)
  if (isKnown) return
  throw new CommandError(
    `${provider} has no credential "${credential}": gateway providers list shows them all`,
  )
}

/** Health as the server with this SQLite file reports it; undefined where no server can be queried. */
async function runningHealth(options: SharedOptions): Promise<readonly MergedProvider[] | undefined> {
  const setting = openStoreSetting(options)
  if (setting.kind !== 'sqlite') return undefined
  const { ControlClient, ControlUnreachableError } = await import('../control/control-client.ts')
  const { socketPath } = await import('../control/socket-path.ts')
  try {
    return mergeHealth(await new ControlClient(socketPath(setting.file)).providerHealth())
  } catch (error) {
    if (error instanceof ControlUnreachableError) return undefined
    throw error
  }
}

/** An empty row with all columns. */
const nothing = { provider: '', credential: '', egress: '', state: '', rests: '', requests: '', waiting: '' }

type Row = Readonly<typeof nothing>

/** `fails (1 of 2)` when only some processes report it. */
function stateOf(one: {
  readonly state: string
  readonly affected: number
  readonly processes: number
}): string {
  const isPart = one.affected > 0 && one.affected < one.processes
  return isPart ? `${one.state} (${one.affected} of ${one.processes})` : one.state
}

function rowsOf({ name, isOff, credentials, routes }: MergedProvider): readonly Row[] {
  if (isOff) return [{ ...nothing, provider: name, state: 'off: no credential is set' }]
  const rest = (ms: number): string => (ms === 0 ? '' : `${Math.ceil(ms / 1000)} s`)
  return [
    ...credentials.map(one => ({
      ...nothing,
      provider: name,
      credential: one.name,
      state: one.isPaused ? `paused, ${stateOf(one)}` : stateOf(one),
      rests: rest(one.restMs),
      requests: String(one.requests),
      waiting: String(one.waiting),
    })),
    ...routes.map(one => ({
      ...nothing,
      provider: name,
      egress: one.egress,
      state: stateOf(one),
      rests: rest(one.restMs),
    })),
  ]
}

function addList(providers: Command, { stdout }: CliContext): void {
  addCommand(providers, 'list', 'list providers with credentials and egress').action(
    async (options: SharedOptions) => {
      const running = await runningHealth(options)
      const rows = running?.flatMap(rowsOf) ?? (await switchedRows(options))
      if (options.json === true) {
        for (const one of running ?? rows) stdout.write(`${JSON.stringify(one)}\n`)
        return
      }
      if (running === undefined) {
        stdout.write(
          openStoreSetting(options).kind === 'sqlite'
            ? 'no gateway runs on this store: this is what operators switched\n'
            : "on PostgreSQL commands ask no gateway: this is what operators switched; the operators' pages have the rest\n",
        )
      }
      stdout.write(formatTable(rows, ['rests', 'requests', 'waiting']))
    },
  )
}

/** The state that the store has without a running gateway. */
async function switchedRows(options: SharedOptions): Promise<readonly Row[]> {
  const switches = (await readRecords(options, readSwitches)).filter(one => one.isPaused)
  return openProviderNames(options).flatMap(provider => {
    const own = switches.filter(one => one.provider === provider)
    if (own.length === 0) return [{ ...nothing, provider, state: '' }]
    return own.map(({ credential }) => ({ ...nothing, provider, credential, state: 'paused' }))
  })
}

import { Command, CommanderError } from 'commander'
import { AccountError } from '../accounts/accounts.ts'
import { addCommand, addConfigCommand, UsageError, type CliContext } from './command.ts'

type FillCommand = (command: Command, context: CliContext) => void

interface ListedCommand {
  readonly definition: string
  readonly description: string
  /** Creates the command with the shared options; absent: with none. */
  readonly make?: typeof addCommand
  /** Loads the module that adds its options, action or subcommands. */
  readonly load: () => Promise<FillCommand>
}

/**
 * Every command, in the order of the help. A command's modules load only when it is named: most load a part of the
 * server.
 */
const commands: readonly ListedCommand[] = [
  {
    definition: 'serve',
    description: 'run the gateway; SIGTERM drains it, SIGHUP reads the configuration again',
    make: addConfigCommand,
    load: async () => (await import('./serve.ts')).fillServe,
  },
  {
    definition: 'check',
    description: 'check the configuration and list its problems',
    make: addCommand,
    load: async () => (await import('./check.ts')).fillCheck,
  },
  {
    definition: 'init [file]',
    description: 'write a configuration of your own (default: gateway.yaml), which includes the shipped one',
    load: async () => (await import('./init.ts')).fillInit,
  },
  {
    definition: 'account',
    description:
      'the paying customers: create, find, show, credit, debit, correct, block, end-sessions, delete',
    load: async () => (await import('./account.ts')).fillAccount,
  },
  {
    definition: 'key',
    description: 'what clients send: create, edit, list, find, revoke',
    load: async () => (await import('./key.ts')).fillKey,
  },
  {
    definition: 'balance',
    description: 'show the balance of an account, and what of it is held',
    make: addCommand,
    load: async () => (await import('./charges.ts')).fillBalance,
  },
  {
    definition: 'charges',
    description: 'list what was charged, oldest first; of all accounts unless one is named',
    make: addCommand,
    load: async () => (await import('./charges.ts')).fillCharges,
  },
  {
    definition: 'models',
    description: 'list the models on sale, with their prices',
    make: addCommand,
    load: async () => (await import('./models.ts')).fillModels,
  },
  {
    definition: 'top',
    description: 'list the highest sums of charges',
    make: addCommand,
    load: async () => (await import('./charges.ts')).fillTop,
  },
  {
    definition: 'requests',
    description: 'the records of a request: find',
    load: async () => (await import('./requests.ts')).fillRequests,
  },
  {
    definition: 'prices',
    description: 'what models cost: rate, import, preview, history',
    load: async () => (await import('./prices.ts')).fillPrices,
  },
  {
    definition: 'providers',
    description: 'providers as the running gateway knows them: list, pause, resume, try',
    load: async () => (await import('./providers.ts')).fillProviders,
  },
  {
    definition: 'payment',
    description: 'money that customers send: create, list, show, refund, reconcile',
    load: async () => (await import('./payment.ts')).fillPayment,
  },
  {
    definition: 'invoice',
    description: 'invoices for companies: create, list, cancel',
    load: async () => (await import('./invoice.ts')).fillInvoice,
  },
  {
    definition: 'statement',
    description: 'bank statements: import, list, assign, return, undo',
    load: async () => (await import('./statement.ts')).fillStatement,
  },
  {
    definition: 'documents',
    description: 'closing documents: close, list, correct, mark, reconcile, export, advances',
    load: async () => (await import('./documents.ts')).fillDocuments,
  },
  {
    definition: 'operator',
    description: "who uses the operator's pages: add, list, remove, log",
    load: async () => (await import('./operator.ts')).fillOperator,
  },
  {
    definition: 'alarms',
    description: 'list alarms; take or close one',
    make: addCommand,
    load: async () => (await import('./alarms.ts')).fillAlarms,
  },
  {
    definition: 'verify',
    description: "check the ledger's invariants, and recompute every charge",
    make: addCommand,
    load: async () => (await import('./store.ts')).fillVerify,
  },
  {
    definition: 'backup <file>',
    description: 'write a consistent copy of the store, also while the gateway runs',
    make: addCommand,
    load: async () => (await import('./store.ts')).fillBackup,
  },
]

/**
 * Runs one command.
 *
 * @param argv the arguments after the program's name
 * @returns the exit code: 0, 1 for a failure, 2 for wrong usage
 */
export async function runCli(argv: readonly string[], context: CliContext): Promise<number> {
  try {
    await (await buildProgram(argv, context)).parseAsync(argv, { from: 'user' })
    return 0
  } catch (error) {
    return report(error, context)
  }
}

async function buildProgram(argv: readonly string[], context: CliContext): Promise<Command> {
  const program = new Command('gateway')
    .description('A self-hosted gateway to AI providers, charged in roubles.')
    .version(context.version, '-v, --version')
    .exitOverride()
    // An option belongs to the command that precedes it, also where that command has subcommands.
    .enablePositionalOptions()
    .configureOutput({
      writeOut: text => context.stdout.write(text),
      writeErr: text => context.stderr.write(shown(text)),
    })
    .showHelpAfterError('Try --help.')
  program.hook('preAction', (_program, command) => checkNoneIsEmpty(command))
  const named = argv.find(word => word !== 'help' && word !== '--')
  for (const { definition, description, make, load } of commands) {
    const command =
      make?.(program, definition, description) ?? program.command(definition).description(description)
    if (command.name() === named) (await load())(command, context)
  }
  return program
}

/** By refusal code, the command that lists the objects among which one was missing, or already present. */
const listings: Readonly<Record<string, string>> = {
  account_not_found: 'gateway account list shows them all',
  alarm_changed: 'gateway alarms --all lists them',
  alarm_not_found: 'gateway alarms --all lists them',
  charge_not_found: 'gateway charges --account ACCOUNT lists what it was charged for',
  email_taken: 'gateway account find EMAIL shows it',
  key_not_found: 'gateway key list --all shows them',
  operator_not_found: 'gateway operator list shows them',
}

/** Texts for which empty is a value: it removes what was there, or says nothing. */
const mayBeEmpty: ReadonlySet<string> = new Set(['--name', '--note'])

/** An empty argument is mostly an unset variable of a shell. @throws UsageError that names it */
function checkNoneIsEmpty(command: Command): void {
  const refuse = (name: string): never => {
    throw new UsageError(`${name}: is empty: give it a value`)
  }
  for (const [index, argument] of command.registeredArguments.entries())
    if (command.args[index] === '') refuse(`<${argument.name()}>`)
  for (const option of command.options) {
    if (mayBeEmpty.has(option.long ?? '')) continue
    if (command.getOptionValue(option.attributeName()) === '') refuse(option.long ?? option.flags)
  }
}

const wordStartLength = 60
const keyValues = /\bgw-[\w-]{39}([\w-]{4})(?![\w-])/g

/** Shortens words that are longer than any name, and hides values of keys: terminals and logs keep what is printed. */
function shown(text: string): string {
  return text
    .replaceAll(keyValues, 'gw-…$1')
    .replaceAll(/\S{200,}/g, word => `${word.slice(0, wordStartLength)}…(${word.length} characters)`)
}

function report(error: unknown, context: CliContext): number {
  const stderr = { write: (text: string) => context.stderr.write(shown(text)) }
  if (error instanceof CommanderError) {
    // Requested help is a success; help because of a missing subcommand is not.
    return error.exitCode === 0 ? 0 : 2
  }
  if (error instanceof UsageError) {
    stderr.write(`gateway: ${error.message}\n`)
    return 2
  }
  if (error instanceof AccountError) {
    const listing = listings[error.code]
    stderr.write(`gateway: ${error.message}${listing === undefined ? '' : `: ${listing}`}\n`)
    return 1
  }
  stderr.write(`gateway: ${describe(error)}\n`)
  return 1
}

/** Named errors are meant for the user; any other shows its stack. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const isSlip = error instanceof TypeError || error instanceof ReferenceError
  return isSlip ? (error.stack ?? error.message) : error.message
}

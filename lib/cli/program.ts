import { Command, CommanderError } from 'commander'
import { AccountError } from '../accounts/accounts.ts'
import { UsageError, type CliContext } from './command.ts'

type AddCommand = (program: Command, context: CliContext) => void

/** Every command, in the order of the help. The modules of one are read when it is named: most load a part of the server. */
const commands: Readonly<Record<string, () => Promise<AddCommand>>> = {
  serve: async () => (await import('./serve.ts')).addServeCommand,
  check: async () => (await import('./check.ts')).addCheckCommand,
  init: async () => (await import('./init.ts')).addInitCommand,
  account: async () => (await import('./account.ts')).addAccountCommands,
  key: async () => (await import('./key.ts')).addKeyCommands,
  balance: async () => (await import('./charges.ts')).addBalanceCommand,
  charges: async () => (await import('./charges.ts')).addChargesCommand,
  models: async () => (await import('./models.ts')).addModelsCommand,
  top: async () => (await import('./charges.ts')).addTopCommand,
  requests: async () => (await import('./requests.ts')).addRequestsCommands,
  prices: async () => (await import('./prices.ts')).addPricesCommands,
  providers: async () => (await import('./providers.ts')).addProvidersCommands,
  payment: async () => (await import('./payment.ts')).addPaymentCommands,
  invoice: async () => (await import('./invoice.ts')).addInvoiceCommands,
  statement: async () => (await import('./statement.ts')).addStatementCommands,
  documents: async () => (await import('./documents.ts')).addDocumentCommands,
  operator: async () => (await import('./operator.ts')).addOperatorCommands,
  alarms: async () => (await import('./alarms.ts')).addAlarmsCommands,
  verify: async () => (await import('./store.ts')).addVerifyCommand,
  backup: async () => (await import('./store.ts')).addBackupCommand,
}

/**
 * Runs one command.
 *
 * @param argv the words after the program's name
 * @returns the exit code: 0, 1 for what is wrong, 2 for wrong usage
 */
export async function runCli(argv: readonly string[], context: CliContext): Promise<number> {
  try {
    await (await buildProgram(argv[0] ?? '', context)).parseAsync(argv, { from: 'user' })
    return 0
  } catch (error) {
    return report(error, context)
  }
}

/** @param word the first one: a command's name, or what concerns all of them, such as `--help` */
async function buildProgram(word: string, context: CliContext): Promise<Command> {
  const program = new Command('gateway')
    .description('A self-hosted gateway to AI providers, charged in roubles.')
    .version(context.version, '-v, --version')
    .exitOverride()
    // An option belongs to the command before it, also where a command has commands of its own.
    .enablePositionalOptions()
    .configureOutput({
      writeOut: text => context.stdout.write(text),
      writeErr: text => context.stderr.write(text),
    })
    .showHelpAfterError('Try --help.')
  const named = Object.hasOwn(commands, word) ? [commands[word]] : Object.values(commands)
  for (const load of named) if (load !== undefined) (await load())(program, context)
  return program
}

/** What shows the things of which one was not found, or is there already, by the code of the refusal. */
const listings: Readonly<Record<string, string>> = {
  account_not_found: 'gateway account list shows them all',
  alarm_changed: 'gateway alarms --all lists them',
  alarm_not_found: 'gateway alarms --all lists them',
  charge_not_found: 'gateway charges --account ACCOUNT lists what it was charged for',
  email_taken: 'gateway account find EMAIL shows it',
  key_not_found: 'gateway key list --all shows them',
  operator_not_found: 'gateway operator list shows them',
}

function report(error: unknown, { stderr }: CliContext): number {
  if (error instanceof CommanderError) {
    // Help that was asked for is a success; help because a subcommand is missing is not.
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

/** Named errors are meant to be read; a slip of the program's own shows where it happened. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const isSlip = error instanceof TypeError || error instanceof ReferenceError
  return isSlip ? (error.stack ?? error.message) : error.message
}

import { Command, CommanderError } from 'commander'
import { AccountError } from '../accounts/accounts.ts'
import { addAccountCommands } from './account.ts'
import { addAlarmsCommands } from './alarms.ts'
import { addBackupCommand } from './backup.ts'
import { addBalanceCommand } from './balance.ts'
import { addChargesCommand } from './charges.ts'
import { addCheckCommand } from './check.ts'
import { CommandError, UsageError } from './context.ts'
import type { CliContext } from './context.ts'
import { addInitCommand } from './init.ts'
import { addDocumentCommands } from './documents.ts'
import { addInvoiceCommands } from './invoice.ts'
import { addKeyCommands } from './key.ts'
import { addModelsCommand } from './models.ts'
import { addOperatorCommands } from './operator.ts'
import { addPaymentCommands } from './payment.ts'
import { addPricesCommands } from './prices.ts'
import { addProvidersCommands } from './providers.ts'
import { addRequestsCommands } from './requests.ts'
import { addServeCommand } from './serve.ts'
import { addStatementCommands } from './statement.ts'
import { addTopCommand } from './top.ts'
import { addVerifyCommand } from './verify.ts'

/**
 * Runs one command.
 *
 * @param argv the words after the program's name
 * @returns the exit code: 0, 1 for what is wrong, 2 for wrong usage
 */
export async function runCli(argv: readonly string[], context: CliContext): Promise<number> {
  try {
    await buildProgram(context).parseAsync(argv, { from: 'user' })
    return 0
  } catch (error) {
    return report(error, context)
  }
}

function buildProgram(context: CliContext): Command {
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
  addServeCommand(program, context)
  addCheckCommand(program, context)
  addInitCommand(program, context)
  addAccountCommands(program, context)
  addKeyCommands(program, context)
  addBalanceCommand(program, context)
  addChargesCommand(program, context)
  addModelsCommand(program, context)
  addTopCommand(program, context)
  addRequestsCommands(program, context)
  addPricesCommands(program, context)
  addProvidersCommands(program, context)
  addPaymentCommands(program, context)
  addInvoiceCommands(program, context)
  addStatementCommands(program, context)
  addDocumentCommands(program, context)
  addOperatorCommands(program, context)
  addAlarmsCommands(program, context)
  addVerifyCommand(program, context)
  addBackupCommand(program, context)
  return program
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
  if (error instanceof AccountError || error instanceof CommandError) {
    stderr.write(`gateway: ${error.message}\n`)
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

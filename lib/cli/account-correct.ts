import type { Command } from 'commander'
import { correctCharge } from '../administration/correct-charge.ts'
import { formatRoubles } from '../money/amount.ts'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import { operatorName, reasonText, roubles, wholeNumber } from './arguments.ts'
import type { CliContext } from './context.ts'
import { withRecords } from './with-records.ts'

interface CorrectOptions extends SharedOptions {
  readonly request: string
  readonly turn: string
  readonly rub: string
  readonly reason: string
}

/** `account correct`. */
export function addAccountCorrection(account: Command, { stdout }: CliContext): void {
  addCommand(
    account,
    'correct <account>',
    'say what a request was to cost: what it was charged beyond that is given back',
  )
    .requiredOption('--request <id>', 'the id of x-gateway-request-id')
    .option('--turn <n>', 'of a session the turn, from 0 on', '0')
    .requiredOption('--rub <amount>', 'roubles that it comes to from now on; 0 gives back all of it')
    .requiredOption('--reason <text>', 'what stands beside the entry; the customer sees it')
    .action(async (accountId: string, options: CorrectOptions) => {
      const correction = {
        accountId,
        requestId: options.request,
        sequence: wholeNumber('--turn', options.turn),
        costMicros: roubles('--rub', options.rub),
        reason: reasonText(options.reason),
        operator: operatorName(),
      }
      const done = await withRecords(options, (records, now) => correctCharge(records, correction, now))
      const { revision, beforeMicros, returnedMicros } = done
      const cost = formatRoubles(correction.costMicros)
      const returned = formatRoubles(returnedMicros)
      const json = { request: options.request, revision, before: formatRoubles(beforeMicros), cost, returned }
      const moved =
        returnedMicros > 0
          ? `${returned} ₽ were given back to ${accountId}`
          : `${formatRoubles(-returnedMicros)} ₽ were taken from ${accountId}`
      stdout.write(
        options.json === true
          ? `${JSON.stringify(json)}\n`
          : `the request ${options.request} comes to ${cost} ₽ instead of ${json.before} ₽: ${moved}\n`,
      )
    })
}

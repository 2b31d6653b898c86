import type { Command } from 'commander'
import { formatRoubles } from '../money/amount.ts'
import { systemClock, zonedDayStart } from '../platform/clock.ts'
import { readSpenders } from '../stores/records/read-spenders.ts'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import { oneOf, wholeNumber } from './arguments.ts'
import { UsageError } from './context.ts'
import type { CliContext } from './context.ts'
import { openTimeZone } from './open-config.ts'
import { formatTable } from './table.ts'
import { readRecords } from './with-records.ts'

interface TopOptions extends SharedOptions {
  readonly by: string
  readonly days: string
}

/** `top`: who or what most is charged for. */
export function addTopCommand(program: Command, { stdout }: CliContext): void {
  addCommand(program, 'top', 'list where most was charged, the highest sum first')
    .option('--by <what>', 'account, model, key or outcome', 'account')
    .option(
      '--days <n>',
      'how many days, today among them; they begin at midnight in timeZone of the configuration',
      '1',
    )
    .action(async (options: TopOptions) => {
      const by = oneOf('--by', options.by, ['account', 'model', 'key', 'outcome'] as const)
      const days = wholeNumber('--days', options.days)
      if (days === 0) throw new UsageError('--days: begins at 1, which is today')
      const from = zonedDayStart(systemClock.now(), openTimeZone(options), days - 1)
      const rows = await readRecords(options, records => readSpenders(records, by, from))
      const shown = rows.map(({ name, charges, micros }) => ({
        [by]: name,
        charges: String(charges),
        roubles: formatRoubles(micros),
      }))
      if (options.json === true) for (const one of shown) stdout.write(`${JSON.stringify(one)}\n`)
      else
        stdout.write(
          shown.length === 0
            ? 'no charges\n'
            : formatTable(shown, { [by]: 'left', charges: 'right', roubles: 'right' }),
        )
    })
}

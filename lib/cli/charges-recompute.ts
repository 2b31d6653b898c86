import type { Command } from 'commander'
import type { RecomputedCharge } from '../ledger/reports.ts'
import { formatRoubles } from '../money/amount.ts'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import { time } from './arguments.ts'
import { CommandError } from './context.ts'
import type { CliContext } from './context.ts'
import { readStore } from './read-store.ts'
import { openTimeZone } from './open-config.ts'

interface RecomputeOptions extends SharedOptions {
  readonly since: string
}

/**
 * Prints one line for every charge that does not come out as it was charged, then what was looked at; with
 * `--json` the lines are `{requestId, sequence, account, at, differences, charged, recomputed, hasProviderUsage}` and the last
 * one is `{charges, differing, withProviderUsage}`. Works beside a running server.
 */
export function addChargesRecomputeCommand(charges: Command, { stdout }: CliContext): void {
  addCommand(charges, 'recompute', 'work charges out again from their usage and price; none should differ')
    .requiredOption('--since <time>', 'charges from this ISO date or time on')
    .action(async (options: RecomputeOptions) => {
      const since = time('--since', options.since, openTimeZone(options))
      const counted = { charges: 0, differing: 0, withProviderUsage: 0 }
      await readStore(options, async reports => {
        for await (const charge of reports.recompute(since)) {
          counted.charges += 1
          if (charge.hasRawUsage) counted.withProviderUsage += 1
          if (charge.differences.length === 0) continue
          counted.differing += 1
          stdout.write(options.json === true ? `${JSON.stringify(view(charge))}\n` : sentence(charge))
        }
      })
      stdout.write(
        options.json === true
          ? `${JSON.stringify(counted)}\n`
          : `${counted.charges} charges were worked out again and ${counted.differing} differ; ` +
              `${counted.withProviderUsage} have the provider's own usage beside them\n`,
      )
      if (counted.differing > 0)
        throw new CommandError(`${counted.differing} charges are not what they should be`)
    })
}

function view({ costMicros, recomputedMicros, hasRawUsage, ...charge }: RecomputedCharge): object {
  return {
    ...charge,
    charged: formatRoubles(costMicros),
    recomputed: recomputedMicros === undefined ? null : formatRoubles(recomputedMicros),
    hasProviderUsage: hasRawUsage,
  }
}

function sentence(charge: RecomputedCharge): string {
  const { requestId, sequence, at, costMicros, recomputedMicros, differences } = charge
  const again = recomputedMicros === undefined ? 'unknown' : formatRoubles(recomputedMicros)
  const why = differences.join('; ')
  return `${at} ${requestId}/${sequence}: charged ${formatRoubles(costMicros)}, recomputed ${again}: ${why}\n`
}

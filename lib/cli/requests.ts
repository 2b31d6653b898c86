import type { Command } from 'commander'
import type { ChargeReport } from '../ledger/reports.ts'
import { formatRoubles } from '../money/amount.ts'
import { zonedTime } from '../platform/clock.ts'
import { findRequest, type FoundHold } from '../stores/records/desk-queries.ts'
import {
  answer,
  addCommand,
  CommandError,
  formatTable,
  type SharedOptions,
  type CliContext,
} from './command.ts'
import { openTimeZone } from './open-config.ts'
import { readStore, readRecords } from './with-store.ts'

/** `requests`: the ledger's records of one request. */
export function fillRequests(requests: Command, { stdout }: CliContext): void {
  addCommand(
    requests,
    'find <id>',
    'show whose a request was, what was held for it and what it cost; by the id of x-gateway-request-id',
  ).action(async (id: string, options: SharedOptions) => {
    const holds = await readRecords(options, records => findRequest(records, id))
    const charges = await readStore(options, reports =>
      Array.fromAsync(reports.charges(undefined, { exchangeId: id })),
    )
    if (holds.length === 0 && charges.length === 0) {
      throw new CommandError(
        `the ledger has no request ${id}: one that was refused or is free leaves nothing in it`,
      )
    }
    const zone = openTimeZone(options)
    const tables = [
      ...(holds.length > 0 ? [holdTable(holds, zone)] : []),
      ...(charges.length > 0 ? [chargeTable(charges, zone)] : []),
    ]
    answer(stdout, options, { request: id, holds: holds.map(holdView), charges }, tables.join('\n'))
  })
}

function holdView({ sequence, accountId, email, keyId, state, amountMicros, createdAt }: FoundHold) {
  return {
    turn: sequence,
    account: accountId,
    email,
    key: keyId,
    hold: state,
    held: formatRoubles(amountMicros),
    at: new Date(createdAt).toISOString(),
  }
}

function holdTable(holds: readonly FoundHold[], zone: string): string {
  const rows = holds.map(hold => {
    const { turn, account, email, key, hold: state, held } = holdView(hold)
    const at = zonedTime(hold.createdAt, zone)
    return { at, turn: String(turn), account, email: email ?? '', key, hold: state, held }
  })
  return formatTable(rows, ['turn', 'held'])
}

function chargeTable(charges: readonly ChargeReport[], zone: string): string {
  const rows = charges.map(charge => ({
    charged: zonedTime(Date.parse(charge.at), zone),
    turn: String(charge.sequence),
    provider: charge.provider,
    model: charge.model,
    outcome: charge.outcome,
    usage: Object.entries(charge.usage)
      .map(([meter, units]) => `${meter} ${units}`)
      .join(', '),
    roubles: charge.amount,
    returned: charge.returned ?? '',
    "provider's id": charge.providerRequestId ?? '',
    flags: charge.flags.join(', '),
  }))
  return formatTable(rows, ['turn', 'roubles', 'returned'])
}

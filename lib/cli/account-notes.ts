import type { Command } from 'commander'
import { addNote, readNotes } from '../administration/account-notes.ts'
import { newId } from '../platform/new-id.ts'
import { zonedTime } from '../platform/clock.ts'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import { operatorName, reasonText } from './arguments.ts'
import type { CliContext } from './context.ts'
import { openTimeZone } from './open-config.ts'
import { found, readStore } from './read-store.ts'
import { formatTable } from './table.ts'
import { readRecords, withRecords } from './with-records.ts'

interface NoteOptions extends SharedOptions {
  readonly add?: string
}

const listedMax = 1000

/** `account notes`: what operators noted about an account; the customer does not see it. */
export function addAccountNotes(account: Command, { stdout }: CliContext): void {
  addCommand(account, 'notes <account>', 'list what operators noted about an account, or note something')
    .option('--add <text>', 'a note that the customer does not see')
    .action(async (accountId: string, options: NoteOptions) => {
      const note = options.add === undefined ? undefined : reasonText(options.add, '--add')
      found(await readStore(options, reports => reports.account(accountId)), accountId)
      if (note !== undefined) {
        const added = { id: newId(), accountId, operator: operatorName(), note }
        await withRecords(options, (records, now) => addNote(records, added, now))
      }
      const notes = await readRecords(options, records => readNotes(records, accountId, listedMax))
      if (options.json === true) {
        for (const one of notes) {
          const at = new Date(one.at).toISOString()
          stdout.write(`${JSON.stringify({ at, operator: one.operator, note: one.note })}\n`)
        }
        return
      }
      const zone = openTimeZone(options)
      const rows = notes.map(one => ({ at: zonedTime(one.at, zone), operator: one.operator, note: one.note }))
      stdout.write(
        rows.length === 0 ? 'no notes\n' : formatTable(rows, { at: 'left', operator: 'left', note: 'left' }),
      )
    })
}

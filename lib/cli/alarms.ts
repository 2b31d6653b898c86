import type { Command } from 'commander'
import { closeAlarm, listAlarms, takeAlarm } from '../alarms/alarms.ts'
import { alarmSentence } from '../pipeline/alarm-sentences.ts'
import { zonedTime } from '../platform/clock.ts'
import type { AlarmRow } from '../stores/records/operator-tables.ts'
import { answer, answerList, addCommand, formatTable, isoTime } from './command.ts'
import type { SharedOptions, CliContext } from './command.ts'
import { operatorName, reasonText } from './arguments.ts'
import { openTimeZone } from './open-config.ts'
import { readRecords, withRecords } from './with-store.ts'

const listedMax = 1000

/** `alarms`: alarms for operators. */
export function fillAlarms(alarms: Command, context: CliContext): void {
  const { stdout } = context
  alarms
    .option('--all', 'closed ones too')
    .action(async (options: SharedOptions & { readonly all?: true }) => {
      const query = { isAll: options.all === true, limit: listedMax }
      const rows = await readRecords(options, records => listAlarms(records, query))
      answerList(
        stdout,
        options,
        rows.map(alarmView),
        rows.length === 0 ? 'no alarms\n' : alarmTable(rows, openTimeZone(options)),
      )
    })
  addTake(alarms, context)
  addClose(alarms, context)
}

function addTake(alarms: Command, { stdout }: CliContext): void {
  addCommand(alarms, 'take <alarm>', 'take an alarm: the other operators see that it is yours').action(
    async (id: string, options: SharedOptions) => {
      const taken = await withRecords(options, (records, at) =>
        takeAlarm(records, { id, operator: operatorName(), at }),
      )
      answer(stdout, options, alarmView(taken), `alarm ${id} is yours\n`)
    },
  )
}

function addClose(alarms: Command, { stdout }: CliContext): void {
  addCommand(alarms, 'close <alarm>', 'close an alarm; raised again, it is open again')
    .requiredOption('--reason <text>', 'what was done about it, for the log')
    .action(async (id: string, options: SharedOptions & { readonly reason: string }) => {
      const reason = reasonText(options.reason)
      const closed = await withRecords(options, (records, at) =>
        closeAlarm(records, { id, operator: operatorName(), at, reason }),
      )
      answer(stdout, options, alarmView(closed), `alarm ${id} is closed\n`)
    })
}

function alarmView(alarm: AlarmRow): object {
  const { id, kind, subject, state, count, first_at, last_at, details } = alarm
  return {
    id,
    alarm: kind,
    subject,
    says: alarmSentence(kind),
    state,
    count,
    firstAt: isoTime(first_at),
    lastAt: isoTime(last_at),
    details: JSON.parse(details) as unknown,
    takenBy: alarm.taken_by,
    takenAt: isoTime(alarm.taken_at),
    closedBy: alarm.closed_by,
    closedAt: isoTime(alarm.closed_at),
    reason: alarm.reason,
  }
}

function alarmTable(rows: readonly AlarmRow[], zone: string): string {
  const cells = rows.map(({ id, kind, subject, state, count, first_at, last_at, closed_by, taken_by }) => ({
    id,
    alarm: kind,
    subject,
    state,
    by: closed_by ?? taken_by ?? '',
    count: String(count),
    first: zonedTime(first_at, zone),
    last: zonedTime(last_at, zone),
  }))
  return formatTable(cells, ['count'])
}

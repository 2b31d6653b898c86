import { LedgerUnavailableError } from '../ledger/ledger.ts'
import type { Log } from '../platform/log.ts'
import type { Clock } from '../platform/clock.ts'
import { LateWrites } from '../platform/late-writes.ts'
import { newId } from '../platform/new-id.ts'
import type { RecordStep, Records } from '../stores/records/records.ts'
import { alarmDetails } from './alarms.ts'

interface AlarmBookOptions {
  /** Loads the module that writes rows; not before the first alarm. */
  readonly records: () => Promise<Records>
  readonly clock: Clock
  readonly log: Pick<Log, 'error'>
  /** How long alarms gather before they are written. */
  readonly gatherMs?: number
}

/** An alarm that was raised, or has ended, since the last write. */
interface Raised {
  readonly kind: string
  readonly subject: string
  /** How often it was raised; 0: it has only ended. */
  count: number
  firstAt: number
  lastAt: number
  details: string
  /** When it ended, if that came last. */
  endedAt: number | undefined
}

/** Codes that end an alarm by themselves, and the alarm that each ends. */
const endings: Readonly<Record<string, string>> = {
  credential_restored: 'credential_suspended',
  egress_up: 'egress_down',
  store_available: 'store_unavailable',
}

const gatherMsDefault = 1000
/** How many subjects of one kind have their own row; further ones share a row, since model names can be anything. */
const subjectsMax = 500
const othersSubject = '(others)'

/** The details that form an alarm's subject. None: there is one alarm of that code. */
const subjects: Readonly<Record<string, readonly string[]>> = {
  auto_top_up_failed: ['account'],
  balance_exhausted: ['account'],
  credential_suspended: ['credentialName'],
  egress_down: ['provider', 'egress'],
  job_unanswered: ['provider', 'kind'],
  overrun: ['account'],
  payment_differs: ['payment'],
  payment_refused: ['payment'],
  receipt_failed: ['payment'],
  refund_differs: ['refund'],
  refund_refused: ['refund'],
  refund_unknown: ['payment'],
  unmetered_session: ['key'],
  vector_store_deleted: ['provider', 'id'],
  vector_store_unpaid: ['provider', 'id'],
}

/** The subject of a charge's alarm is what responded. */
const subjectOfCharge = ['provider', 'model'] as const
const lengthMax = 200

/**
 * Stores alarms as rows: one for each kind and subject, open until an operator closes it or it ends by itself. Alarms
 * gather in memory, so that one raised by every request costs one write a second, and stay there while the store is
 * unavailable.
 */
export class AlarmBook {
  readonly #options: AlarmBookOptions
  readonly #subjects = new Map<string, Set<string>>()
  #raised = new Map<string, Raised>()
  readonly #writes: LateWrites
  #isClosed = false

  constructor(options: AlarmBookOptions) {
    this.#options = options
    this.#writes = new LateWrites(
      () => this.#write(),
      () => this.#raised.size === 0,
      options.gatherMs ?? gatherMsDefault,
    )
  }

  /** Records an alarm; the same alarm again is counted. */
  readonly note = (code: string, details: Readonly<Record<string, unknown>>): void => {
    if (this.#isClosed) return
    const now = this.#options.clock.now()
    const kind = endings[code] ?? code
    const subject = this.#bounded(kind, alarmSubject(kind, details))
    const key = `${kind} ${subject}`
    let raised = this.#raised.get(key)
    if (raised === undefined) {
      raised = { kind, subject, count: 0, firstAt: now, lastAt: now, details: '{}', endedAt: undefined }
      this.#raised.set(key, raised)
    }
    if (kind === code) {
      raised.count += 1
      raised.lastAt = now
      raised.details = JSON.stringify(alarmDetails(details))
      raised.endedAt = undefined
    } else {
      raised.endedAt = now
    }
    this.#writes.expect()
  }

  /** Writes the gathered alarms, for some seconds at most, and accepts no more. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#writes.close()
  }

  #bounded(kind: string, subject: string): string {
    const known = this.#subjects.get(kind) ?? new Set<string>()
    this.#subjects.set(kind, known)
    if (!known.has(subject) && known.size >= subjectsMax) return othersSubject
    known.add(subject)
    return subject
  }

  async #write(): Promise<void> {
    const taken = this.#raised
    if (taken.size === 0) return
    this.#raised = new Map()
    try {
      const records = await this.#options.records()
      await records.write([...taken.values()].flatMap(raised => stepsOf(records, raised)))
    } catch (error) {
      this.#putBack(taken)
      // The store itself has reported that it is unavailable.
      if (!(error instanceof LedgerUnavailableError))
        this.#options.log.error({ error }, 'alarms could not be written; they are written later')
    }
  }

  /** Puts alarms that could not be written back, and adds those raised since. */
  #putBack(taken: ReadonlyMap<string, Raised>): void {
    const since = this.#raised
    this.#raised = new Map(taken)
    for (const [key, later] of since) {
      const earlier = this.#raised.get(key)
      if (earlier === undefined) this.#raised.set(key, later)
      else {
        const { firstAt, count } = earlier
        const last = later.count > 0 ? later : { ...earlier, endedAt: later.endedAt }
        this.#raised.set(key, { ...last, firstAt, count: count + later.count })
      }
    }
  }
}

function stepsOf(
  { build }: Records,
  { kind, subject, count, firstAt, lastAt, details, endedAt }: Raised,
): readonly RecordStep[] {
  const reopen = build
    .updateTable('alarms')
    .set({
      state: 'open',
      count: 0,
      first_at: firstAt,
      taken_by: null,
      taken_at: null,
      closed_by: null,
      closed_at: null,
      reason: null,
    })
    .where('kind', '=', kind)
    .where('subject', '=', subject)
    .where('state', '=', 'closed')
  const raise = build
    .insertInto('alarms')
    .values({
      id: newId(),
      kind,
      subject,
      state: 'open',
      count,
      first_at: firstAt,
      last_at: lastAt,
      details,
    })
    .onConflict(conflict =>
      conflict.columns(['kind', 'subject']).doUpdateSet(row => ({
        count: row('alarms.count', '+', row.ref('excluded.count')),
        last_at: row.ref('excluded.last_at'),
        details: row.ref('excluded.details'),
      })),
    )
  const end = build
    .updateTable('alarms')
    .set({ state: 'closed', closed_by: 'gateway', closed_at: endedAt ?? null, reason: 'it ended by itself' })
    .where('kind', '=', kind)
    .where('subject', '=', subject)
    .where('state', '<>', 'closed')
  return [
    ...(count > 0 ? [{ write: reopen }, { write: raise, rows: 1 }] : []),
    ...(endedAt === undefined ? [] : [{ write: end }]),
  ]
}

/** The subject of an alarm, by which repeated alarms are counted as one: `openai/gpt-5`. */
export function alarmSubject(code: string, details: Readonly<Record<string, unknown>>): string {
  return (subjects[code] ?? subjectOfCharge)
    .map(name => details[name])
    .filter(value => typeof value === 'string')
    .join('/')
    .slice(0, lengthMax)
}

import type { NoticeRow } from '../stores/records/auto-top-up-tables.ts'
import { RecordConflictError } from '../stores/records/records.ts'
import type { Records } from '../stores/records/records.ts'

/** An email that is owed to the owners of an account. */
export type Notice = NoticeRow

/** Somebody who owns an account and whose email is confirmed. */
export interface Owner {
  readonly email: string
  readonly language: string | undefined
}

/** Emails that are owed since a transaction; of several nodes one takes each. */
export class Notices {
  readonly #records: Records

  constructor(records: Records) {
    this.#records = records
  }

  /** Takes what is due for so long: another node, or this one after a crash, takes what was not ended by then. */
  async take(now: number, forMs: number, limit: number): Promise<readonly Notice[]> {
    const { build } = this.#records
    const due = await this.#records.all(
      build.selectFrom('notices').selectAll().where('next_at', '<=', now).orderBy('next_at').limit(limit),
    )
    const taken: Notice[] = []
    for (const notice of due) {
      const write = build
        .updateTable('notices')
        .set({ next_at: now + forMs })
        .where('id', '=', notice.id)
        .where('next_at', '=', notice.next_at)
      try {
        await this.#records.write([{ write, rows: 1 }])
        taken.push(notice)
      } catch (error) {
        if (!(error instanceof RecordConflictError)) throw error
      }
    }
    return taken
  }

  /** It is told, or there is nobody to tell. */
  async end({ id }: Notice): Promise<void> {
    await this.#records.write([{ write: this.#records.build.deleteFrom('notices').where('id', '=', id) }])
  }

  async owners(accountId: string): Promise<readonly Owner[]> {
    const rows = await this.#records.all(
      this.#records.build
        .selectFrom('memberships')
        .innerJoin('users', 'users.id', 'memberships.user_id')
        .select(['users.email', 'users.language'])
        .where('memberships.account_id', '=', accountId)
        .where('memberships.role', '=', 'owner')
        .where('users.email_verified', '=', 1),
    )
    return rows.map(({ email, language }) => ({ email, language: language ?? undefined }))
  }
}

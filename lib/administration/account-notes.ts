import { RecordConflictError } from '../stores/records/records.ts'
import type { RecordReader, Records } from '../stores/records/records.ts'
import type { AccountNoteRow, NoteTables } from '../stores/records/note-table.ts'

interface NewNote {
  /** Made with the form: the same form, sent twice, makes one note. */
  readonly id: string
  readonly accountId: string
  readonly operator: string
  readonly note: string
}

/** Notes something about an account, for operators alone. Answers false when this form was taken before. */
export async function addNote(
  records: Records,
  { accountId, ...note }: NewNote,
  now: number,
): Promise<boolean> {
  const row = { ...note, account_id: accountId, at: now }
  try {
    await records.write([{ write: records.build.insertInto('account_notes').values(row), rows: 1 }])
    return true
  } catch (error) {
    if (!(error instanceof RecordConflictError)) throw error
    return false
  }
}

/** The notes about an account, the newest first. */
export function readNotes(
  records: RecordReader,
  accountId: string,
  limit: number,
): Promise<readonly AccountNoteRow[]> {
  return records.all(
    records.build
      .selectFrom('account_notes')
      .selectAll()
      .where('account_id', '=', accountId)
      .orderBy('at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit),
  )
}

/** What the users of an account agreed to, the newest first. */
export function readConsents(
  records: RecordReader,
  accountId: string,
): Promise<readonly (NoteTables['user_consents'] & { readonly email: string })[]> {
  return records.all(
    records.build
      .selectFrom('user_consents')
      .innerJoin('users', 'users.id', 'user_consents.user_id')
      .innerJoin('memberships', 'memberships.user_id', 'user_consents.user_id')
      .selectAll('user_consents')
      .select('users.email')
      .where('memberships.account_id', '=', accountId)
      .orderBy('user_consents.at', 'desc'),
  )
}

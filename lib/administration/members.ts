import type { Clock } from '../platform/clock.ts'
import type { CompanyDetails } from '../companies/company-details.ts'
import { tryWrite, type Records } from '../stores/records/records.ts'
import type { Membership } from '../accounts/user-rows.ts'

/** A user who may act for an account. Times are milliseconds since the epoch. */
export interface Member {
  readonly userId: string
  readonly email: string
  readonly role: Membership['role']
  readonly since: number
}

/** An open invitation. */
export interface Invitation {
  readonly accountId: string
  readonly email: string
  readonly expiresAt: number
}

interface MembersOptions {
  readonly records: Records
  readonly clock: Clock
}

const openMs = 14 * 24 * 60 * 60_000
/** Members and open invitations of an account together. */
const membersMax = 20

/**
 * Members of an account beside its owner. An invitation is to an email address: the user who has confirmed that address
 * accepts it, so that a forwarded link gives access to nobody.
 */
export class Members {
  readonly #records: Records
  readonly #clock: Clock

  constructor({ records, clock }: MembersOptions) {
    this.#records = records
    this.#clock = clock
  }

  /** Oldest first, so that the owner comes before the members it invited. */
  list(accountId: string): Promise<readonly Member[]> {
    return this.#records.all(
      this.#records.build
        .selectFrom('memberships')
        .innerJoin('users', 'users.id', 'memberships.user_id')
        .select(['user_id as userId', 'email', 'role', 'memberships.created_at as since'])
        .where('account_id', '=', accountId)
        .orderBy('memberships.created_at')
        .orderBy('user_id'),
    )
  }

  /** Invitations of an account, or to an email address, that can still be accepted. */
  invitations(of: { readonly accountId?: string; readonly email?: string }): Promise<readonly Invitation[]> {
    let query = this.#records.build
      .selectFrom('invitations')
      .select(['account_id as accountId', 'email', 'expires_at as expiresAt'])
      .where('expires_at', '>', this.#clock.now())
      .orderBy('created_at')
    if (of.accountId !== undefined) query = query.where('account_id', '=', of.accountId)
    if (of.email !== undefined) query = query.where('email', '=', of.email)
    return this.#records.all(query)
  }

  /** Invites an email address as an accountant; a repetition extends the invitation. */
  async invite(invitation: {
    readonly accountId: string
    readonly email: string
    readonly invitedBy: string
  }): Promise<'invited' | 'member' | 'full'> {
    const { accountId, email, invitedBy } = invitation
    const members = await this.list(accountId)
    if (members.some(member => member.email === email)) return 'member'
    const open = await this.invitations({ accountId })
    if (members.length + open.filter(one => one.email !== email).length >= membersMax) return 'full'
    const now = this.#clock.now()
    const times = { created_at: now, expires_at: now + openMs }
    const row = { account_id: accountId, email, role: 'accountant' as const, invited_by: invitedBy, ...times }
    const write = this.#records.build
      .insertInto('invitations')
      .values(row)
      .onConflict(conflict =>
        conflict.columns(['account_id', 'email']).doUpdateSet({ invited_by: invitedBy, ...times }),
      )
    await this.#records.write([{ write }])
    return 'invited'
  }

  /** Makes a user a member; false when the invitation is no longer open. `email` is the user's, confirmed. */
  async accept(user: { readonly id: string; readonly email: string }, accountId: string): Promise<boolean> {
    const now = this.#clock.now()
    const row = { user_id: user.id, account_id: accountId, role: 'accountant' as const, created_at: now }
    return tryWrite(this.#records, [
      {
        write: this.#records.build
          .deleteFrom('invitations')
          .where('account_id', '=', accountId)
          .where('email', '=', user.email)
          .where('expires_at', '>', now),
        rows: 1,
      },
      { write: this.#records.build.insertInto('memberships').values(row) },
    ])
  }

  /** Declines or withdraws an invitation; false when there is none. */
  endInvitation(accountId: string, email: string): Promise<boolean> {
    const write = this.#records.build
      .deleteFrom('invitations')
      .where('account_id', '=', accountId)
      .where('email', '=', email)
    return tryWrite(this.#records, [{ write, rows: 1 }])
  }

  /** Ends a membership from the next request on; false when there is none. An owner stays. */
  remove(accountId: string, userId: string): Promise<boolean> {
    const write = this.#records.build
      .deleteFrom('memberships')
      .where('account_id', '=', accountId)
      .where('user_id', '=', userId)
      .where('role', '<>', 'owner')
    return tryWrite(this.#records, [{ write, rows: 1 }])
  }

  /** The name of an account for its members: its company's name, else its email address. */
  async accountName(accountId: string): Promise<string> {
    const { build } = this.#records
    const [company] = await this.#records.all(
      build
        .selectFrom('companies')
        .select('details')
        .where('account_id', '=', accountId)
        .orderBy('version', 'desc')
        .limit(1),
    )
    if (company !== undefined) return (JSON.parse(company.details) as CompanyDetails).name
    const [account] = await this.#records.all(
      build.selectFrom('accounts').select('email').where('id', '=', accountId),
    )
    return account?.email ?? accountId
  }

  /** The language that the owner of an account has chosen, if any. */
  async ownerLanguage(accountId: string): Promise<string | undefined> {
    const [row] = await this.#records.all(
      this.#records.build
        .selectFrom('memberships')
        .innerJoin('users', 'users.id', 'memberships.user_id')
        .select('language')
        .where('account_id', '=', accountId)
        .where('role', '=', 'owner')
        .orderBy('memberships.created_at')
        .limit(1),
    )
    return row?.language ?? undefined
  }
}

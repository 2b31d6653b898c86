import { createHash } from 'node:crypto'
import type { UserRows } from '../accounts/user-rows.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import { budgetDay } from '../ledger/key-spending.ts'
import type { Log } from '../platform/log.ts'
import { tryWrite, type Records } from '../stores/records/records.ts'

/** Domains of one mail service, with the canonical one. */
const sameService: Readonly<Record<string, string>> = {
  'googlemail.com': 'gmail.com',
  'ya.ru': 'yandex.ru',
  'yandex.com': 'yandex.ru',
  'yandex.by': 'yandex.ru',
  'yandex.kz': 'yandex.ru',
  'yandex.ua': 'yandex.ru',
}

/**
 * The canonical address of a mailbox: without tags, without dots where Gmail ignores them, with one name of its
 * domain.
 */
export function normalEmail(email: string): string {
  const [name = '', domain = ''] = email
    .trim()
    .toLowerCase()
    .split(/@(?=[^@]*$)/)
  const service = sameService[domain] ?? domain
  const mailbox = name.split('+', 1)[0] ?? ''
  if (service === 'gmail.com') return `${mailbox.replaceAll('.', '')}@${service}`
  // Yandex treats a dot and a hyphen as the same.
  return `${service === 'yandex.ru' ? mailbox.replaceAll('-', '.') : mailbox}@${service}`
}

interface StartingCreditsOptions {
  readonly records: Records
  readonly clock: Clock
  readonly log: Pick<Log, 'warn'>
  readonly settings: () => Config['startingCredit']
}

/** An attempt fails when another account gets the free place first. */
const attemptsMax = 100

/** Credits a new account once its email is confirmed: once per person, and up to a number a day. */
export class StartingCredits {
  readonly #options: StartingCreditsOptions

  constructor(options: StartingCreditsOptions) {
    this.#options = options
  }

  /** Gives the starting credit to the account of a user whose address was just confirmed. */
  async welcome(users: Pick<UserRows, 'find' | 'memberships'>, email: string): Promise<void> {
    if (this.#options.settings() === undefined) return
    const [user] = await users.find('users', { where: [{ column: 'email', operator: '=', value: email }] })
    const [account] = await users.memberships(String(user?.['id']))
    if (account?.role === 'owner') await this.grant(account.accountId, email)
  }

  /** Returns whether the account was credited now. */
  async grant(accountId: string, email: string): Promise<boolean> {
    const setting = this.#options.settings()
    if (setting === undefined) return false
    const digest = createHash('sha256').update(normalEmail(email)).digest('base64url')
    for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
      const place = await this.#freePlace(digest)
      if (place === undefined) return false
      if (place >= setting.accountsPerDay) {
        this.#options.log.warn({ account: accountId }, 'no starting credit: accountsPerDay are reached today')
        return false
      }
      if (await this.#book(accountId, digest, place, setting.amountMicros)) return true
    }
    return false
  }

  /** Today's next free number; undefined when this person has had a credit on any day. */
  async #freePlace(digest: string): Promise<number | undefined> {
    const { records, clock } = this.#options
    const { build } = records
    const had = await records.all(
      build.selectFrom('starting_credits').select('account_id').where('email_digest', '=', digest),
    )
    if (had.length > 0) return undefined
    const [last] = await records.all(
      build
        .selectFrom('starting_credits')
        .select(row => row.fn.max('place').as('place'))
        .where('day', '=', budgetDay(clock.now())),
    )
    return last === undefined || last.place === null ? 0 : last.place + 1
  }

  /** False when another account took the number, or the person has had a credit meanwhile. */
  async #book(accountId: string, digest: string, place: number, amountMicros: number): Promise<boolean> {
    const { records, clock } = this.#options
    const at = clock.now()
    const row = {
      email_digest: digest,
      account_id: accountId,
      day: budgetDay(at),
      place,
      amount_micros: amountMicros,
      at,
    }
    const credit = { id: `starting:${accountId}`, accountId, amountMicros, reason: 'starting credit', at }
    return tryWrite(records, [
      { write: records.build.insertInto('starting_credits').values(row) },
      { credit: { ...credit, source: 'starting' } },
    ])
  }
}

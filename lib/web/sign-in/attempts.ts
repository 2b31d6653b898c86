import { setTimeout as delay } from 'node:timers/promises'
import { networkOf } from '../../http/client-address.ts'
import type { FailureCounts } from '../../rate-limits/failure-counts.ts'

/** How many failures slow an attempt down, and how many lock it. */
export interface AttemptLimits {
  /** From this many failures on, each response takes twice as long as the previous one. */
  readonly slowFrom: number
  /** From this many on, every attempt fails until `forgetMs` is over. */
  readonly lockFrom: number
  /** How long failures are remembered, from the first on. */
  readonly forgetMs: number
}

interface AttemptsOptions {
  readonly counts: FailureCounts
  /** The kind of attempt: names are counted separately for each kind. */
  readonly kind: string
  readonly limits: AttemptLimits
  /** Waits; tests replace it. */
  readonly wait?: (ms: number) => Promise<unknown>
}

const slowMsFirst = 250
const slowMsMax = 4000

/**
 * Limits failures by name (an email, an address). An attempt counts as a failure when it begins, and is subtracted
 * when it succeeds, so that concurrent attempts cannot exceed the limit.
 */
export class Attempts {
  readonly #options: AttemptsOptions

  constructor(options: AttemptsOptions) {
    this.#options = options
  }

  /**
   * Begins an attempt, with a delay after earlier failures. Returns false when the name is locked: the attempt must
   * then fail, even with the right password.
   */
  async begin(name: string): Promise<boolean> {
    const { counts, kind, limits, wait = delay } = this.#options
    // Further attempts do not extend a lock: the owner of the name must be able to sign in eventually.
    const failures = await counts.add(kind, name, limits.forgetMs)
    const steps = Math.min(failures, limits.lockFrom) - 1 - limits.slowFrom
    if (steps >= 0) await wait(Math.min(slowMsFirst * 2 ** steps, slowMsMax))
    return failures <= limits.lockFrom
  }

  /** Forgets all failures of a name. */
  async forget(name: string): Promise<void> {
    await this.#options.counts.forget(this.#options.kind, name)
  }

  /** The attempt succeeded: subtracts it, but keeps earlier failures. */
  async takeBack(name: string): Promise<void> {
    await this.#options.counts.takeBack(this.#options.kind, name)
  }
}

/** Attempts to send emails: by recipient, and by the requesting network. */
export interface EmailAttempts {
  readonly emailsTo: Attempts
  readonly emailsFrom: Attempts
}

/** Whether an email may be sent; protects mailboxes from floods. */
export async function mayWrite(
  { emailsTo, emailsFrom }: EmailAttempts,
  to: string,
  { address }: { readonly address: string },
): Promise<boolean> {
  return (await emailsFrom.begin(networkOf(address))) && emailsTo.begin(to)
}

/** Attempts of several kinds, by their limits; `area` separates them from those of other areas. */
export function attemptsOf<Kind extends string>(
  counts: FailureCounts,
  area: string,
  limits: Readonly<Record<Kind, AttemptLimits>>,
): Readonly<Record<Kind, Attempts>> {
  const kinds = Object.keys(limits) as Kind[]
  const made = kinds.map(kind => [
    kind,
    new Attempts({ counts, kind: `${area} ${kind}`, limits: limits[kind] }),
  ])
  return Object.fromEntries(made) as Record<Kind, Attempts>
}

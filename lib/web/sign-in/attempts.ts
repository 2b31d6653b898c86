import { setTimeout as delay } from 'node:timers/promises'
import { networkOf } from '../../http/client-address.ts'
import type { FailureCounts } from '../../rate-limits/failure-counts.ts'

/** How often something may fail before it is slowed down and then locked. */
export interface AttemptLimits {
  /** From this many failures on, each answer takes twice as long as the last. */
  readonly slowFrom: number
  /** From this many on, every attempt fails until the time is over. */
  readonly lockFrom: number
  /** How long failures are remembered, counted from the first. */
  readonly forgetMs: number
}

interface AttemptsOptions {
  readonly counts: FailureCounts
  /** The kind of attempt: its names are counted apart from those of other kinds. */
  readonly kind: string
  readonly limits: AttemptLimits
  /** Waits; tests bring their own. */
  readonly wait?: (ms: number) => Promise<unknown>
}

const slowMsFirst = 250
const slowMsMax = 4000

/**
 * Limits failures by name (an email, an address). An attempt counts as failed when it begins and is taken back when
 * it succeeds, so that many at once pass no limit.
 */
export class Attempts {
  readonly #options: AttemptsOptions

  constructor(options: AttemptsOptions) {
    this.#options = options
  }

  /**
   * Begins an attempt, after a while when there were failures before it. Answers false when it is locked out:
   * it must fail, whatever it brings.
   */
  async begin(name: string): Promise<boolean> {
    const { counts, kind, limits, wait = delay } = this.#options
    // Once locked, further attempts do not make it longer: the owner of the name must get in some day.
    const failures = await counts.add(kind, name, limits.forgetMs)
    const steps = Math.min(failures, limits.lockFrom) - 1 - limits.slowFrom
    if (steps >= 0) await wait(Math.min(slowMsFirst * 2 ** steps, slowMsMax))
    return failures <= limits.lockFrom
  }

  /** What failed under a name is forgotten. */
  async forget(name: string): Promise<void> {
    await this.#options.counts.forget(this.#options.kind, name)
  }

  /** The attempt has succeeded, which says nothing of the failures before it. */
  async takeBack(name: string): Promise<void> {
    await this.#options.counts.takeBack(this.#options.kind, name)
  }
}

/** Attempts to have emails sent: by the address they go to, and by the network they are asked for from. */
export interface EmailAttempts {
  readonly lettersTo: Attempts
  readonly lettersFrom: Attempts
}

/** Whether an email may be sent: nobody's mailbox is to be filled from here. */
export async function mayWrite(
  { lettersTo, lettersFrom }: EmailAttempts,
  to: string,
  { address }: { readonly address: string },
): Promise<boolean> {
  return (await lettersFrom.begin(networkOf(address))) && lettersTo.begin(to)
}

/** Attempts of several kinds, by their limits; `area` keeps them apart from those of other pages. */
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

import type { Micros } from '../money/amount.ts'

/** An account whose balance has fallen below what its owners asked to be told of. */
export interface LowBalance {
  readonly accountId: string
  readonly balanceMicros: Micros
  readonly belowMicros: Micros
  /** How often, since somebody was told last. */
  readonly crossings: number
  /** Whose e-mail is confirmed. */
  readonly owners: readonly { readonly email: string; readonly language: string | undefined }[]
}

/** What owners set for their accounts. What changes something resolves when it is on the disk. */
export interface AccountSettings {
  /** The bound of the low-balance alert; undefined when there is none. */
  alertBelow(accountId: string): Promise<Micros | undefined>
  setAlertBelow(accountId: string, belowMicros: Micros | undefined): Promise<void>
  /**
   * Takes the alerts that nobody tells of, for so long: another node, or this one after a crash, takes what was
   * not ended by then. An account that is above its bound again has none.
   */
  takeAlerts(forMs: number): Promise<readonly LowBalance[]>
  /** The owners were told; what was crossed since it was taken is still to be told. */
  endAlert(alert: Pick<LowBalance, 'accountId' | 'crossings'>): Promise<void>
  /** Gives a user and their account another e-mail; false when it is taken, or `from` is theirs no more. */
  changeEmail(change: {
    readonly userId: string
    readonly from: string
    readonly to: string
  }): Promise<boolean>
}

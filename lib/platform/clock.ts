/** Where time comes from. Tests bring their own. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
}

/** The time of day, which may be set back. */
export const systemClock: Clock = { now: () => Date.now() }

/** Runs evenly whatever is done to the system's time. Its numbers mean something to each other only. */
export const steadyClock: Clock = { now: () => performance.now() }

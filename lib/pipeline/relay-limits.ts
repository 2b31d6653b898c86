import type { DrainSlots } from './drain-slots.ts'

/** How long, and how much, may be read. */
export interface ReadLimits {
  readonly timeMs: number
  readonly bytesMax: number
}

export interface RelayLimits {
  /** Of an answer without an announced length: one that never ends must not be paid for ever. */
  readonly answer: ReadLimits
  /** Of reading on for an answer's usage after its client has left. */
  readonly drain: ReadLimits
  /** One for all exchanges: each that is read on takes a slot. */
  readonly drainSlots: DrainSlots
  /** How long a client may take nothing of its answer before it counts as gone. */
  readonly stallMs: number
}

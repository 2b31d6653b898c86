import type { TurnUsage } from '../dialects/session.ts'
import type { Hold } from '../ledger/ledger.ts'
import type { Ending } from '../settlement/decide-owed.ts'
import type { Heard } from './conversation.ts'

/** A turn of a session from its hold to its charge. */
export interface Turn {
  readonly hold: Hold
  /** The provider's id of the response. */
  id: string | undefined
  /** The client's id of the message that asked for it. */
  eventId: string | undefined
  isAskedFor: boolean
  isStarted: boolean
  /** It reads something else than the conversation, or is not added to it. */
  isApart: boolean
  /** What was said before it, as far as it reads that. */
  heard: Heard | undefined
  /** What was generated so far. */
  textBytes: number
  audioSeconds: number
  /** What the provider told of it so far. */
  usage: TurnUsage | undefined
}

/** What was read of a turn, as far as money depends on it. */
export function readingOf(
  { textBytes, audioSeconds }: Turn,
  usage: TurnUsage | undefined,
  end: { readonly isTerminal: boolean; readonly hasError: boolean },
): NonNullable<Ending['reading']> {
  return { lines: usage?.lines ?? [], hasOutput: textBytes + audioSeconds > 0, ...end }
}

/** A turn that is held for, and that nobody has asked for yet. */
export function newTurn(hold: Hold): Turn {
  return {
    hold,
    id: undefined,
    eventId: undefined,
    isAskedFor: false,
    isStarted: false,
    isApart: false,
    heard: undefined,
    textBytes: 0,
    audioSeconds: 0,
    usage: undefined,
  }
}

import type { ClientEvent } from '../dialects/session.ts'
import { readAgain, type Meters } from '../money/usage.ts'
import { audioTokens } from '../metering/turn-cost.ts'

/** What a client has said by some moment of its session. */
export interface Heard {
  readonly textBytes: number
  readonly audioSeconds: number
  readonly imageTokens: number
}

/** Fewer than most texts have. */
const usualBytesPerToken = 3
/** No text has more tokens than bytes. */
const fewestBytesPerToken = 1

/** How much a session has said so far, which every turn reads again. */
export class Conversation {
  heard: Heard
  /** What the last turn read and said, by the provider's count. */
  #counted: Meters
  /** What was heard until then, which is in that count. */
  #heardAtCount: Heard = { textBytes: 0, audioSeconds: 0, imageTokens: 0 }

  /** @param context what the provider keeps of a session that is resumed */
  constructor(setupBytes: number, context: Meters = {}) {
    this.heard = { textBytes: setupBytes, audioSeconds: 0, imageTokens: 0 }
    this.#counted = readAgain(context)
  }

  hear({ textBytes, audioSeconds, imageTokens = 0 }: ClientEvent): void {
    const { heard } = this
    this.heard = {
      textBytes: heard.textBytes + textBytes,
      audioSeconds: heard.audioSeconds + audioSeconds,
      imageTokens: heard.imageTokens + imageTokens,
    }
  }

  /** A turn was counted: what was heard until it began is in it, and what came while it ran is not. */
  count(meters: Meters, heardAtStart: Heard): void {
    this.#counted = readAgain(meters)
    this.#heardAtCount = heardAtStart
  }

  /** What the next turn reads at most, and what it is taken to. */
  nextInputs(): { readonly input: Meters; readonly likelyInput: Meters } {
    return { input: this.nextInput(fewestBytesPerToken), likelyInput: this.nextInput() }
  }

  /** What the next turn is taken to read. */
  nextInput(bytesPerToken = usualBytesPerToken): Meters {
    const { input = 0, audioInput = 0, imageInput = 0 } = this.#counted
    const textBytes = this.heard.textBytes - this.#heardAtCount.textBytes
    const images = imageInput + this.heard.imageTokens - this.#heardAtCount.imageTokens
    return {
      input: input + Math.ceil(textBytes / bytesPerToken),
      audioInput:
        audioInput + audioTokens(this.heard.audioSeconds - this.#heardAtCount.audioSeconds, 'heard'),
      ...(images > 0 && { imageInput: images }),
    }
  }
}

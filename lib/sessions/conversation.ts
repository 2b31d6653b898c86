import type { ClientEvent, ServerEvent } from '../dialects/session.ts'
import { readAgain, type Meters } from '../money/usage.ts'
import { audioTokens } from '../metering/turn-cost.ts'

/** What a client has sent by some moment of its session. */
export interface Heard {
  readonly textBytes: number
  readonly audioSeconds: number
  readonly imageTokens: number
}

/** Speech that is being transcribed, which its provider bills when the transcript is complete. */
export interface Transcript {
  /** The provider's id of the speech. */
  readonly item: string
  readonly model: string | undefined
  /** Of the speech. */
  readonly audioSeconds: number
  /** Of the transcript so far. */
  readonly textBytes: number
}

/** Fewer than most texts have. */
const usualBytesPerToken = 3
/** No text has more tokens than bytes. */
const fewestBytesPerToken = 1

/** The content of a session so far, which every turn reads again. */
export class Conversation {
  heard: Heard
  /** What the last turn read and generated, by the provider's count. */
  #counted: Meters
  /** What was heard until then, which is part of that count. */
  #heardAtCount: Heard = { textBytes: 0, audioSeconds: 0, imageTokens: 0 }
  readonly #transcripts = new Map<string, Transcript>()
  #secondsAtTranscript = 0

  /** @param context what the provider keeps of a resumed session */
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

  /** A turn was counted: the count includes what was heard until it began, but not what arrived while it ran. */
  count(meters: Meters, heardAtStart: Heard): void {
    this.#counted = readAgain(meters)
    this.#heardAtCount = heardAtStart
  }

  /** Some speech is not transcribed yet. */
  get isTranscribing(): boolean {
    return this.#transcripts.size > 0
  }

  transcribe({ item, textBytes, model, isOver }: ServerEvent & { kind: 'transcript' }): void {
    if (isOver === true) {
      this.#transcripts.delete(item)
      return
    }
    const known = this.#transcripts.get(item) ?? {
      item,
      model,
      audioSeconds: this.#secondsSinceTranscript(),
      textBytes: 0,
    }
    this.#transcripts.set(item, { ...known, textBytes: known.textBytes + textBytes })
  }

  #secondsSinceTranscript(): number {
    const { audioSeconds } = this.heard
    const seconds = audioSeconds - this.#secondsAtTranscript
    this.#secondsAtTranscript = audioSeconds
    return seconds
  }

  /** Takes the transcripts of which a part was delivered, and whose end will not be reported. */
  takeTranscripts(): readonly Transcript[] {
    const delivered = [...this.#transcripts.values()].filter(({ textBytes }) => textBytes > 0)
    this.#transcripts.clear()
    return delivered
  }

  /** What the next turn reads at most, and what it is expected to read. */
  nextInputs(): { readonly input: Meters; readonly likelyInput: Meters } {
    return { input: this.nextInput(fewestBytesPerToken), likelyInput: this.nextInput() }
  }

  /** What the next turn is expected to read. */
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

import type { ClientEvent } from '../dialects/session.ts'
import type { Meters } from '../money/usage.ts'
import { audioTokens } from './turn-hold.ts'

/** How much a session has said so far, which every turn reads again. */
export class Conversation {
  readonly #bytesPerToken: number
  #textBytes = 0
  #audioBytes = 0
  /** What the last turn read and said, by the provider's count. */
  #counted: Meters = {}

  constructor(bytesPerToken: number, setupBytes: number) {
    this.#bytesPerToken = bytesPerToken
    this.#textBytes = setupBytes
  }

  hear({ textBytes, audioBytes }: ClientEvent): void {
    this.#textBytes += textBytes
    this.#audioBytes += audioBytes
  }

  /** A turn was counted: what was heard until then is in it. */
  count(meters: Meters): void {
    const sum = (...names: readonly (keyof Meters)[]): number =>
      names.reduce((total, name) => total + (meters[name] ?? 0), 0)
    this.#counted = {
      input: sum('input', 'cachedInput', 'cacheWrite5m', 'cacheWrite1h', 'output'),
      audioInput: sum('audioInput', 'cachedAudioInput', 'audioOutput'),
      imageInput: sum('imageInput', 'imageOutput'),
    }
    this.#textBytes = 0
    this.#audioBytes = 0
  }

  /** What the next turn is taken to read. */
  nextInput(): Meters {
    const text = Math.ceil(this.#textBytes / this.#bytesPerToken)
    return {
      ...this.#counted,
      input: (this.#counted.input ?? 0) + text,
      audioInput: (this.#counted.audioInput ?? 0) + audioTokens(this.#audioBytes, 'heard'),
    }
  }
}

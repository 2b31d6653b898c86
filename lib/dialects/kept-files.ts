import type { NamedObject } from '../money/usage.ts'
import type { Interest } from '../http/json-scan.ts'
import { AnswerReader } from './answer-reader.ts'
import type { Operation } from './dialect.ts'
import { object, value } from './interest.ts'
import { names } from './named-objects.ts'
import { objectOperation } from './operation-kinds.ts'

const keptBytes = value('keptBytes')
const keptUntil = value('keptUntil')

const told = {
  bytes: keptBytes,
  size_bytes: keptBytes,
  sizeBytes: keptBytes,
  expires_at: keptUntil,
  expirationTime: keptUntil,
}

/** A file in an answer of any provider: its name, its size, and when it is deleted by itself. */
export function keptFile(member: 'id' | 'name'): Interest {
  return object({ [member]: names('file'), ...told })
}

/** Reads the answer to an upload. */
class KeptFileReader extends AnswerReader {
  #kept: NonNullable<NamedObject['kept']> = {}

  override takeObjects(): readonly NamedObject[] {
    return super.takeObjects().map(named => ({ ...named, kept: this.#kept }))
  }

  protected override onValue(name: string, told: unknown): void {
    if (name === 'keptBytes' && Number.isSafeInteger(Number(told)))
      this.#kept = { ...this.#kept, bytes: Number(told) }
    // Seconds since the epoch, or a date in words.
    const until = typeof told === 'number' ? told * 1000 : Date.parse(String(told))
    if (name === 'keptUntil' && Number.isSafeInteger(until)) this.#kept = { ...this.#kept, until }
  }
}

/** An operation by which a file comes to its provider, or ends coming. */
export function fileOperation(...[name, answer, options]: Parameters<typeof objectOperation>): Operation {
  return {
    ...objectOperation(name, answer, options),
    readUsage: (head, context) => new KeptFileReader(head, context, answer),
  }
}

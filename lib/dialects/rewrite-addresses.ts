import { JsonScanError, JsonScanner } from '../http/json-scan.ts'
import type { Finding, Interest } from '../http/json-scan.ts'

/** A longer string is no address. */
const heldBytesMax = 65_536
const scanOptions = { rejectDuplicates: false, valueBytesMax: heldBytesMax }

/**
 * Puts other addresses in the places of interest of a JSON document that comes in chunks. All other bytes stay
 * as they came, and none is held but those of a string that may be an address.
 */
export class AddressRewriter {
  readonly #scanner: JsonScanner
  readonly #rewrite: (address: string) => string | undefined
  #held: Buffer = Buffer.alloc(0)
  /** Where the held bytes begin in the document. */
  #start = 0
  #findingsTaken = 0
  #isPassing = false

  /** @param rewrite answers undefined for an address that stays */
  constructor(interest: Interest, rewrite: (address: string) => string | undefined) {
    this.#scanner = new JsonScanner(interest, scanOptions)
    this.#rewrite = rewrite
  }

  push(chunk: Buffer): Buffer {
    if (this.#isPassing) return chunk
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
    try {
      this.#scanner.push(chunk)
    } catch (error) {
      // What is no JSON has no places.
      if (!(error instanceof JsonScanError)) throw error
      this.#isPassing = true
    }
    return this.#take(bytes)
  }

  /** What is left when the answer has ended. */
  end(): Buffer {
    const rest = this.#held
    this.#held = Buffer.alloc(0)
    return rest
  }

  #take(bytes: Buffer): Buffer {
    const out: Buffer[] = []
    const findings = this.#scanner.findings
    let from = 0
    let index = this.#findingsTaken
    for (; index < findings.length; index += 1) {
      const finding = findings[index] as Finding
      if (finding.end === -1) break
      const own = this.#own(finding)
      if (own === undefined) continue
      out.push(bytes.subarray(from, finding.start - this.#start), own)
      from = finding.end - this.#start
    }
    this.#findingsTaken = index
    const open = findings[index]
    const until = open === undefined || this.#isPassing ? bytes.length : open.start - this.#start
    if (bytes.length - until > heldBytesMax) this.#isPassing = true
    const end = this.#isPassing ? bytes.length : until
    out.push(bytes.subarray(from, end))
    this.#held = bytes.subarray(end)
    this.#start += end
    return out.length === 1 ? (out[0] as Buffer) : Buffer.concat(out)
  }

  #own({ type, raw }: Finding): Buffer | undefined {
    if (type !== 'string' || raw === undefined) return undefined
    const address = String(JSON.parse(raw.toString('utf8')))
    const own = URL.canParse(address) ? this.#rewrite(address) : undefined
    return own === undefined ? undefined : Buffer.from(JSON.stringify(own))
  }
}

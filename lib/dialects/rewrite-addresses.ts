import { JsonScanError, JsonScanner, type Finding, type Interest } from '../http/json-scan.ts'
import type { DialectName, RouteMatch } from './dialect.ts'
import { list, object, value } from './interest.ts'

/** No address is longer than this. */
const heldBytesMax = 65_536
const scanOptions = { rejectDuplicates: false, valueBytesMax: heldBytesMax }

/**
 * Replaces the addresses at places of interest in a JSON document that arrives in chunks. All other bytes are
 * unchanged, and only the bytes of a string that may be an address are held back.
 */
export class AddressRewriter {
  readonly #scanner: JsonScanner
  readonly #rewrite: (address: string) => string | undefined
  #held: Buffer = Buffer.alloc(0)
  /** The position of the held bytes in the document. */
  #start = 0
  #findingsTaken = 0
  #isPassing = false

  /** @param rewrite returns undefined for an address to keep */
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
      // A document that is not valid JSON passes through unchanged.
      if (!(error instanceof JsonScanError)) throw error
      this.#isPassing = true
    }
    return this.#take(bytes)
  }

  /** The remaining bytes after the end of the response. */
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

const address = value('address')
const sample = list(object({ video: object({ uri: address }) }))

/** The address of the results in a batch that has ended. */
const batch = object({ results_url: address })
/** The addresses of the videos in a finished operation, in the spellings of the API's versions. */
const operation = object({
  response: object({
    generatevideoresponse: object({ generatedsamples: sample }),
    generatedsamples: sample,
    generatedvideos: sample,
  }),
})

/** By dialect, for responses about these objects. */
const places: Readonly<Record<DialectName, ReadonlyMap<string, Interest>>> = {
  openai: new Map(),
  anthropic: new Map([['batch', batch]]),
  google: new Map([['operation', operation]]),
}

/**
 * The places in a response for addresses of the provider, with which a client would bypass the gateway; undefined if it
 * has none.
 */
export function answerAddresses(
  dialectName: DialectName,
  { object: about, upstreamPath }: RouteMatch,
): Interest | undefined {
  if (about === undefined || /\/results(?:\?|$)/.test(upstreamPath)) return undefined
  return places[dialectName].get(about.kind)
}

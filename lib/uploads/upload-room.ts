import type { Config } from '../config/config.ts'
import { headerValue, headerValues } from '../http/headers.ts'
import { LedgerUnavailableError, type Ledger, type ProviderObjectName } from '../ledger/ledger.ts'
import type { NamedObject, ObjectFacts } from '../money/usage.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { Exchange, Outcome } from '../pipeline/exchange.ts'
import type { Clock } from '../platform/clock.ts'
import { encodingOf, isWholeUpload } from './upload-facts.ts'

/** An upload takes an hour at most, and OpenAI keeps one in parts for an hour: it is not finished later. */
const underWayMs = 2 * 3_600_000
/** The longest file that a provider accepts, for uploads that do not announce their length. */
const fileBytesMax = { openai: 512 * 1024 ** 2, anthropic: 512 * 1024 ** 2, google: 2 * 1024 ** 3 }

export interface RoomContext {
  readonly config: Pick<Config, 'uploads'>
  readonly ledger: Pick<Ledger, 'reserveUpload' | 'keepUpload' | 'unlistObject'>
  readonly clock: Clock
}

/** Limits what each account has uploaded and its providers store, at the operator's cost and against their quota. */
export class UploadRoom {
  readonly #context: RoomContext
  /** Reservations of exchanges that no provider has named yet. */
  readonly #reserved = new WeakMap<Exchange, ProviderObjectName>()

  constructor(context: RoomContext) {
    this.#context = context
  }

  /**
   * Reserves space before the upload is sent.
   * @throws GatewayError storage_full, overloaded
   */
  async reserve(exchange: Exchange): Promise<void> {
    const { operation, object } = exchange.get('route').match
    const { carriesFile } = operation
    const accountId = exchange.find('key')?.accountId
    if (accountId === undefined) return
    const provider = exchange.get('target').provider.name
    const begun = object?.kind === 'upload' ? { provider, kind: object.kind, id: object.id } : undefined
    if (carriesFile === 'bytes' && begun !== undefined) {
      const command =
        headerValue(exchange.request.rawHeaders, 'x-goog-upload-command')?.toLowerCase() ?? 'upload'
      // If more of it comes after all, that reserves space again.
      if (command.includes('cancel')) return await this.#context.ledger.unlistObject(begun)
      if (!command.includes('upload')) return
    }
    const name = begun ?? ({ provider, kind: 'upload', id: exchange.id } as const)
    await this.#reserve(exchange, name, accountId)
  }

  /** Renames the reservation when the response names what the upload has become. */
  async keep(
    exchange: Exchange,
    { kind, id, kept }: NamedObject,
    facts: ObjectFacts | undefined,
  ): Promise<void> {
    const { object } = exchange.get('route').match
    const provider = exchange.get('target').provider.name
    const begun = object?.kind === 'upload' ? { provider, kind: object.kind, id: object.id } : undefined
    const from = this.#reserved.get(exchange) ?? begun
    if (from === undefined || (kind !== 'file' && kind !== 'upload')) return
    const bytes = kind === 'file' ? (kept?.bytes ?? facts?.bytes) : undefined
    const until = kind === 'file' ? kept?.until : this.#context.clock.now() + underWayMs
    await this.#context.ledger.keepUpload(from, {
      provider,
      kind,
      id,
      accountId: exchange.get('key').accountId,
      ...(bytes !== undefined && { bytes }),
      ...(until !== undefined && { until }),
    })
    this.#reserved.delete(exchange)
  }

  /** Frees the space of a failed upload. One that was sent completely, and whose response never came, may exist. */
  end(exchange: Exchange, outcome: Outcome): Promise<void> | undefined {
    const name = this.#reserved.get(exchange)
    const isUnknown = exchange.wasSent && (outcome.kind === 'aborted' || outcome.kind === 'broken')
    return name === undefined || isUnknown ? undefined : this.#context.ledger.unlistObject(name)
  }

  async #reserve(exchange: Exchange, name: ProviderObjectName, accountId: string): Promise<void> {
    const { ledger, clock } = this.#context
    const limits = this.#context.config.uploads
    const told = declaredBytes(exchange)
    const bytes = told ?? Math.min(fileBytesMax[exchange.get('route').dialect.name], limits.bytesMax)
    const until = clock.now() + underWayMs
    const full = await ledger.reserveUpload({ ...name, accountId, bytes, until }, limits).catch(unavailable)
    if (full !== undefined) throw storageFull(full, limits, bytes, told === undefined)
    if (name.id === exchange.id) this.#reserved.set(exchange, name)
  }
}

/** How long the file is at most, as the request announces it; undefined when it does not. */
function declaredBytes(exchange: Exchange): number | undefined {
  const { rawHeaders } = exchange.request
  const upload = exchange.find('upload')
  if (upload === undefined) return exchange.get('request').fileBytes
  // The length of a compressed body says nothing about the file's.
  if (encodingOf(exchange) !== '') return undefined
  const { carriesFile } = exchange.get('route').match.operation
  if (carriesFile === 'form' || isWholeUpload(exchange)) return upload.length
  const declared = headerValues(rawHeaders, 'x-goog-upload-header-content-length').map(Number)
  const isSure = declared.length === 1 && declared.every(bytes => Number.isSafeInteger(bytes) && bytes >= 0)
  return isSure ? declared[0] : undefined
}

function unavailable(cause: unknown): never {
  if (!(cause instanceof LedgerUnavailableError)) throw cause
  const message = 'The ledger cannot take new uploads now. Try again soon.'
  throw new GatewayError('overloaded', message, { cause, retryAfterSeconds: 1 })
}

function storageFull(
  { files, bytes }: { readonly files: number; readonly bytes: number },
  { filesMax, bytesMax }: Config['uploads'],
  needed: number,
  isUndeclared: boolean,
): GatewayError {
  const undeclared = isUndeclared ? ', which does not declare its length,' : ''
  return new GatewayError(
    'storage_full',
    `The account has ${files} files of ${bytes} bytes at providers, uploads under way included; ${filesMax} files of ` +
      `${bytesMax} bytes are the most. This upload${undeclared} needs ${needed} bytes. Delete files that are not needed.`,
    { details: { files, files_max: filesMax, bytes, bytes_max: bytesMax, needed } },
  )
}

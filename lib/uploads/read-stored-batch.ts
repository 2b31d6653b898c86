import { setTimeout } from 'node:timers/promises'
import { BatchInputReader } from '../dialects/openai/batch-input.ts'
import { createDecoder, type Decoder } from '../http/decode.ts'
import type { ChosenProvider } from '../models/choose-provider.ts'
import type { BatchFacts } from '../money/batch-facts.ts'
import { askProvider } from '../upstream/ask-provider.ts'
import type { Upstreams } from '../upstream/upstreams.ts'

/** No provider makes a batch of a longer file. */
const fileBytesMax = 512 * 1_048_576
const decodeCaps = { outputBytesMax: fileBytesMax, ratioMax: 1000 }
const readMs = 120_000
/** A file that was just assembled may not be available at once. */
const waitsMs = [0, 250, 1000]

interface StoredFile {
  readonly chosen: ChosenProvider
  readonly id: string
  /** If it is known. */
  readonly bytes: number | undefined
  /** Aborts the reading when the gateway stops. */
  readonly signal: AbortSignal
}

/** The result of one attempt. */
type Attempt = BatchFacts | { readonly failure: string; readonly isFinal: boolean }

/**
 * Reads the input file of a batch from the provider that stores it, as it would have been read during the upload: only
 * the facts are kept. Never rejects: a failure becomes the problem that a batch of this file is refused with.
 */
export async function readStoredBatch(upstreams: Upstreams, file: StoredFile): Promise<BatchFacts> {
  if ((file.bytes ?? 0) > fileBytesMax) return problem(`it is over ${fileBytesMax} bytes`)
  const signal = AbortSignal.any([file.signal, AbortSignal.timeout(readMs)])
  let failure = ''
  for (const waitMs of waitsMs) {
    const attempt = await attemptToRead(upstreams, { ...file, signal }, waitMs)
    if ('requests' in attempt) return attempt
    failure = attempt.failure
    if (attempt.isFinal || signal.aborted) break
  }
  return problem(failure)
}

async function attemptToRead(upstreams: Upstreams, file: StoredFile, waitMs: number): Promise<Attempt> {
  try {
    if (waitMs > 0) await setTimeout(waitMs, undefined, { signal: file.signal })
    return await read(upstreams, file)
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error), isFinal: false }
  }
}

async function read(upstreams: Upstreams, { chosen, id, signal }: StoredFile): Promise<Attempt> {
  const reader = new BatchInputReader()
  const response: { status: number; bytes: number; decoder?: Decoder | undefined } = { status: 0, bytes: 0 }
  const push = (bytes: Buffer): void => reader.push(bytes)
  await askProvider(
    upstreams,
    { chosen, dialectName: 'openai', path: `/files/${encodeURIComponent(id)}/content`, signal },
    {
      onHead({ status, contentEncoding }) {
        response.status = status
        response.decoder = createDecoder(contentEncoding, push, decodeCaps)
        return status >= 200 && status <= 299 && response.decoder !== undefined
      },
      onData(chunk) {
        response.bytes += chunk.length
        if (response.bytes > fileBytesMax) throw new Error(`it is over ${fileBytesMax} bytes`)
        return response.decoder?.write(chunk)
      },
    },
  )
  const { status, decoder } = response
  if (status < 200 || status > 299) {
    const isFinal = status < 500 && status !== 404 && status !== 409 && status !== 429
    return { failure: `the provider answered ${status}`, isFinal }
  }
  await decoder?.end()
  if (decoder === undefined || decoder.isBroken)
    return { failure: 'the provider sent it in an encoding that cannot be read', isFinal: true }
  return reader.end()
}

function problem(reason: string): BatchFacts {
  const message = `What was uploaded in parts could not be read back to see its requests: ${reason}. Upload the file in one piece, by POST /v1/files.`
  return { requests: 0, shares: [], objects: [], problem: { at: 'input_file_id', message } }
}

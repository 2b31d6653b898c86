import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { PrintedDocument } from '../document.ts'
import type { RecordReader } from '../../stores/records/records.ts'
import { facsimileOf } from '../company-versions.ts'

/** A job for the thread. */
export interface PrintJob {
  readonly id: number
  readonly document: PrintedDocument
  /** Signature and stamp, as a `data:` URL. */
  readonly image: string | undefined
}

/** The thread's result: the PDF, or the reason why there is none. */
export interface PrintResult {
  readonly id: number
  readonly bytes?: Uint8Array
  readonly error?: string
}

/** A document could not be printed, or not in time. */
export class PrintError extends Error {
  override readonly name = 'PrintError'
}

interface Waiting {
  resolve(bytes: Uint8Array): void
  reject(error: Error): void
}

/** Times in milliseconds. */
interface DocumentPrinterOptions {
  /** The time limit for one document, including the wait for those before it. */
  readonly timeoutMs?: number
  /** How long an idle thread is kept: it holds some 100 MB. */
  readonly idleMs?: number
}

/** The most waiting documents; each is a few kilobytes. */
const waitingMax = 200

// In the compiled package the worker is a .js file, like this module.
const workerUrl = new URL(`./document-worker${extname(import.meta.url)}`, import.meta.url)

/** Prints documents as PDF in a worker thread that starts with the first document and ends when idle. */
export class DocumentPrinter {
  readonly #timeoutMs: number
  readonly #idleMs: number
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | undefined
  #lastId = 0
  #idleTimer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor({ timeoutMs = 60_000, idleMs = 30_000 }: DocumentPrinterOptions = {}) {
    this.#timeoutMs = timeoutMs
    this.#idleMs = idleMs
  }

  /**
   * Prints a document as PDF.
   * @param image signature and stamp, as a `data:` URL
   * @throws PrintError when too many wait, or printing fails or times out; a retry may succeed
   */
  async print(document: PrintedDocument, image?: string): Promise<Uint8Array> {
    if (this.#isClosed) throw new PrintError('The printer is closed.')
    if (this.#waiting.size >= waitingMax)
      throw new PrintError('Too many documents wait to be printed; try again soon.')
    clearTimeout(this.#idleTimer)
    const id = (this.#lastId += 1)
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
    this.#waiting.set(id, { resolve, reject })
    const timer = setTimeout(
      () => this.#fail(new PrintError(`A document took over ${this.#timeoutMs} ms.`)),
      this.#timeoutMs,
    )
    try {
      this.#start().postMessage({ id, document, image } satisfies PrintJob)
      return await promise
    } finally {
      clearTimeout(timer)
      this.#waiting.delete(id)
      if (this.#waiting.size === 0)
        this.#idleTimer = setTimeout(() => void this.#drop(), this.#idleMs).unref()
    }
  }

  /** Ends the thread; waiting documents are not printed. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#idleTimer)
    this.#rejectAll(new PrintError('The printer is closed.'))
    await this.#drop()
  }

  #start(): Worker {
    if (this.#worker !== undefined) return this.#worker
    const worker = new Worker(workerUrl, { execArgv: [], resourceLimits: { maxOldGenerationSizeMb: 512 } })
    this.#worker = worker
    worker.unref()
    worker.on('message', ({ id, bytes, error }: PrintResult) => {
      const waiting = this.#waiting.get(id)
      if (bytes !== undefined) waiting?.resolve(bytes)
      else waiting?.reject(new PrintError('A document could not be printed.', { cause: new Error(error) }))
    })
    worker.on('error', (error: unknown) => {
      if (worker === this.#worker) this.#fail(new PrintError('The printer failed.', { cause: error }))
    })
    worker.on('exit', () => {
      if (worker === this.#worker) this.#fail(new PrintError('The printer ended.'))
    })
    return worker
  }

  #fail(error: PrintError): void {
    this.#rejectAll(error)
    void this.#drop()
  }

  #rejectAll(error: PrintError): void {
    for (const waiting of this.#waiting.values()) waiting.reject(error)
  }

  async #drop(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }
}

/**
 * Prints a document as PDF, with the signature image that the seller had when it was issued.
 * @throws PrintError when it fails
 * @throws DocumentError when the image is missing from the store
 */
export async function printDocument(
  records: RecordReader,
  printer: Pick<DocumentPrinter, 'print'>,
  document: PrintedDocument,
): Promise<Uint8Array> {
  return printer.print(document, await facsimileOf(records, document))
}

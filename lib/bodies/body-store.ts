import { type FileHandle, mkdir, open, rm, unlink } from 'node:fs/promises'
import { GatewayError } from '../pipeline/errors.ts'
import { PieceList } from '../http/piece-list.ts'
import type { RequestBody } from './outgoing-body.ts'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * The folder for the files of long bodies. A file is unlinked as soon as it is open, so the folder is nearly always
 * empty, and nothing stays on the disk however the process ends. It is created on first use, with access for its owner
 * only.
 */
export class SpoolFolder {
  readonly #path: string | undefined
  #made: Promise<string> | undefined

  /** @param path a folder used for nothing else; undefined: one in the system's folder for temporary files */
  constructor(path: string | undefined) {
    this.#path = path
  }

  /** A file that is deleted when its handle closes. */
  async openFile(): Promise<FileHandle> {
    this.#made ??= this.#make()
    let folder: string
    try {
      folder = await this.#made
    } catch (error) {
      this.#made = undefined
      throw error
    }
    const path = join(folder, randomUUID())
    const handle = await open(path, 'wx+', 0o600)
    try {
      await unlink(path)
    } catch (error) {
      await handle.close()
      throw error
    }
    return handle
  }

  async close(): Promise<void> {
    const made = this.#made
    this.#made = undefined
    if (made !== undefined) await rm(await made, { recursive: true, force: true })
  }

  async #make(): Promise<string> {
    if (this.#path === undefined) return mkdtempSync(join(tmpdir(), 'gateway-bodies-'))
    // A crash between creating a file and unlinking it leaves the file behind.
    rmSync(this.#path, { recursive: true, force: true })
    await mkdir(this.#path, { mode: 0o700 })
    return this.#path
  }
}

/** Where a body's bytes are kept, and within which limits. */
interface BodyKeeping {
  readonly budget: BodyBudget
  readonly folder: { openFile(): Promise<FileHandle> }
  /** A body could not be written to its file, for example because the disk is full, or could not be read from it. */
  onFileFailed(error: Error): void
}

/** How many bytes are buffered before they are written to the file. */
const writeBytes = 262_144
/** How much of a body in a file also stays in memory. */
const headBytesMax = 65_536

/** A body that is being received, and then read. Its bytes count against the budget until it is closed. */
export class BodyStore implements RequestBody {
  readonly #keeping: BodyKeeping
  readonly #memoryBytesMax: number
  readonly #chunks = new PieceList()
  #chunkBytes = 0
  length = 0
  bytes: Buffer | undefined
  #head: Buffer | undefined
  #handle: FileHandle | undefined
  #isInFile = false
  #memoryBytes = 0
  #isClosed = false

  /** @param memoryBytesMax the most memory it may use */
  constructor(keeping: BodyKeeping, memoryBytesMax: number) {
    this.#keeping = keeping
    this.#memoryBytesMax = memoryBytesMax
  }

  get head(): Buffer {
    return this.bytes ?? this.#head ?? Buffer.alloc(0)
  }

  /**
   * Appends the next bytes; returns a promise when the caller has to wait.
   * @throws GatewayError overloaded when all bodies together are too large, or the disk is full
   */
  append(chunk: Buffer): Promise<void> | undefined {
    const { budget } = this.#keeping
    try {
      budget.take(chunk.length)
    } catch (error) {
      // Closes at once: otherwise all bodies that arrive at the same pace would be refused together.
      this.close()
      throw error
    }
    this.length += chunk.length
    this.#chunks.push(chunk)
    this.#chunkBytes += chunk.length
    if (!this.#isInFile) {
      if (this.length <= this.#memoryBytesMax && budget.takeMemory(chunk.length)) {
        this.#memoryBytes += chunk.length
        return undefined
      }
      this.#isInFile = true
    }
    return this.#chunkBytes >= writeBytes ? this.#write() : undefined
  }

  /** All bytes were appended: the body can be read. */
  finish(): Promise<void> | undefined {
    if (this.#isInFile) return this.#write()
    const chunks = this.#chunks.take()
    const [only] = chunks
    this.bytes = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, this.length)
    return undefined
  }

  async read(position: number, length: number): Promise<Buffer> {
    if (this.bytes !== undefined) return this.bytes.subarray(position, position + length)
    if (this.#handle === undefined || this.#isClosed) throw new Error('A body was read that is closed.')
    const wanted = Math.max(0, Math.min(length, this.length - position))
    const buffer = Buffer.allocUnsafe(wanted)
    try {
      const { bytesRead } = await this.#handle.read(buffer, 0, wanted, position)
      return buffer.subarray(0, bytesRead)
    } catch (error) {
      if (!this.#isClosed) this.#keeping.onFileFailed(error as Error)
      throw error
    }
  }

  /** Releases everything. A pending read fails, because the body is closed. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#chunks.take()
    this.bytes = undefined
    this.#keeping.budget.give(this.length)
    this.#keeping.budget.giveMemory(this.#memoryBytes)
    // The close waits for reads in progress; only then can the descriptor be reused for another file.
    this.#handle?.close().catch((error: unknown) => this.#keeping.onFileFailed(error as Error))
    this.#handle = undefined
  }

  /** Moves the buffered bytes to the file. */
  async #write(): Promise<void> {
    const chunks = this.#chunks.take()
    const bytes = this.#chunkBytes
    const position = this.length - bytes
    this.#chunkBytes = 0
    if (bytes === 0) return
    this.#head ??= Buffer.concat(chunks, Math.min(bytes, headBytesMax))
    try {
      this.#handle ??= await this.#keeping.folder.openFile()
      await writeAll(this.#handle, chunks, bytes, position)
    } catch (error) {
      this.#keeping.onFileFailed(error as Error)
      throw new GatewayError('overloaded', 'The gateway cannot store so large a body now. Try again soon.', {
        cause: error,
        retryAfterSeconds: 5,
      })
    }
    this.#keeping.budget.giveMemory(this.#memoryBytes)
    this.#memoryBytes = 0
  }
}

/** A full disk accepts part of the bytes first, and fails with the next write. */
async function writeAll(
  handle: FileHandle,
  chunks: readonly Buffer[],
  bytes: number,
  position: number,
): Promise<void> {
  let rest = [...chunks]
  let written = 0
  while (written < bytes) {
    const { bytesWritten } = await handle.writev(rest, position + written)
    written += bytesWritten
    rest = withoutFirst(rest, bytesWritten)
  }
}

function withoutFirst(chunks: readonly Buffer[], bytes: number): Buffer[] {
  let skipped = 0
  const rest: Buffer[] = []
  for (const chunk of chunks) {
    const start = Math.max(0, Math.min(chunk.length, bytes - skipped))
    if (start < chunk.length) rest.push(chunk.subarray(start))
    skipped += chunk.length
  }
  return rest
}

interface BodyBudgetOptions {
  /** In memory and in files together. */
  readonly bytesMax: number
  /** In memory alone: beyond it a body goes to a file, however short it is. */
  readonly memoryBytesMax: number
}

/** Limits the bytes of request bodies that all exchanges together hold. */
export class BodyBudget {
  readonly #options: BodyBudgetOptions
  /** In memory and in files together. */
  bytes = 0
  memoryBytes = 0

  constructor(options: BodyBudgetOptions) {
    this.#options = options
  }

  /** @throws GatewayError overloaded */
  take(bytes: number): void {
    if (this.bytes + bytes > this.#options.bytesMax) {
      throw new GatewayError(
        'overloaded',
        'The gateway holds as many request bodies as it may. Try again soon.',
        { retryAfterSeconds: 1 },
      )
    }
    this.bytes += bytes
  }

  give(bytes: number): void {
    this.bytes -= bytes
  }

  /** False when the bytes must go to a file. */
  takeMemory(bytes: number): boolean {
    if (this.memoryBytes + bytes > this.#options.memoryBytesMax) return false
    this.memoryBytes += bytes
    return true
  }

  giveMemory(bytes: number): void {
    this.memoryBytes -= bytes
  }

  /**
   * Acquires memory that cannot be moved to a file.
   * @param of what uses it
   * @throws GatewayError overloaded
   */
  hold(bytes: number, of: string): void {
    this.take(bytes)
    if (this.takeMemory(bytes)) return
    this.give(bytes)
    throw new GatewayError('overloaded', `The gateway holds as many ${of} as it may. Try again soon.`, {
      retryAfterSeconds: 1,
    })
  }

  /** Releases what `hold` has acquired. */
  release(bytes: number): void {
    this.give(bytes)
    this.giveMemory(bytes)
  }
}

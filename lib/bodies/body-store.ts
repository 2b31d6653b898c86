import { type FileHandle, mkdir, open, rm, unlink } from 'node:fs/promises'
import { GatewayError } from '../pipeline/errors.ts'
import { PieceList } from '../http/piece-list.ts'
import type { RequestBody } from './outgoing-body.ts'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * The folder of the files that long bodies stand in. A file loses its name as soon as it is open, so the
 * folder is empty but for moments, and whatever becomes of the process nothing stays on the disk. It is made
 * when it is first needed, and only its owner may look into it.
 */
export class SpoolFolder {
  readonly #path: string | undefined
  #made: Promise<string> | undefined

  /** @param path nobody else's folder; undefined: one in the system's folder for temporary files */
  constructor(path: string | undefined) {
    this.#path = path
  }

  /** A file that goes away with its handle. */
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
    // What a crash left between making a file and taking its name away.
    rmSync(this.#path, { recursive: true, force: true })
    await mkdir(this.#path, { mode: 0o700 })
    return this.#path
  }
}

/** What a body's bytes are kept in, and within which bounds. */
interface BodyKeeping {
  readonly budget: BodyBudget
  readonly folder: { openFile(): Promise<FileHandle> }
  /** A body could not be written to its file, as when the disk is full, or not be read from it. */
  onFileFailed(error: Error): void
}

/** Bytes that gather before they are written to the file. */
const writeBytes = 262_144
/** What stays in memory of a body in a file. */
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

  /** @param memoryBytesMax the most that it takes up in memory */
  constructor(keeping: BodyKeeping, memoryBytesMax: number) {
    this.#keeping = keeping
    this.#memoryBytesMax = memoryBytesMax
  }

  get head(): Buffer {
    return this.bytes ?? this.#head ?? Buffer.alloc(0)
  }

  /**
   * Takes the next bytes; returns a promise when they have to be waited for.
   * @throws GatewayError overloaded when all bodies together are too large, or the disk cannot take it
   */
  append(chunk: Buffer): Promise<void> | undefined {
    const { budget } = this.#keeping
    try {
      budget.take(chunk.length)
    } catch (error) {
      // At once, or all that come at the same pace would be refused in the same turn.
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

  /** All bytes were taken: the body can be read. */
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

  /** Gives everything back. What still reads is told that the body is closed. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#chunks.take()
    this.bytes = undefined
    this.#keeping.budget.give(this.length)
    this.#keeping.budget.giveMemory(this.#memoryBytes)
    // It waits for reads that are under way, and only then is the descriptor free for another file.
    this.#handle?.close().catch((error: unknown) => this.#keeping.onFileFailed(error as Error))
    this.#handle = undefined
  }

  /** Moves what has gathered to the file. */
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

/** A full disk takes a part of the bytes first, and says so with the next write. */
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
  /** In memory alone: what is beyond goes to a file, however short it is. */
  readonly memoryBytesMax: number
}

/** Bytes of request bodies that all exchanges together hold, bounded. */
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

  /** False when the bytes have to go to a file. */
  takeMemory(bytes: number): boolean {
    if (this.memoryBytes + bytes > this.#options.memoryBytesMax) return false
    this.memoryBytes += bytes
    return true
  }

  giveMemory(bytes: number): void {
    this.memoryBytes -= bytes
  }

  /**
   * Takes memory that nothing else could stand in for.
   * @param of what it is taken up by
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

  /** Gives back what `hold` has taken. */
  release(bytes: number): void {
    this.give(bytes)
    this.giveMemory(bytes)
  }
}

import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { mkdir, open, rm, unlink, type FileHandle } from 'node:fs/promises'
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

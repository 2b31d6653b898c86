import { Writable } from 'node:stream'
import type { CliContext } from './context.ts'

/**
 * Writes a piece of a long result, and waits until its reader has taken it, so that a slow one does not fill the memory.
 * @returns whether anybody still reads
 */
export async function writeResult(stdout: CliContext['stdout'], text: string): Promise<boolean> {
  const isTaken = stdout.write(text) !== false
  if (!(stdout instanceof Writable)) return true
  if (!isTaken && stdout.writable) {
    const { promise, resolve } = Promise.withResolvers<void>()
    stdout.once('drain', resolve).once('close', resolve)
    await promise
    stdout.off('drain', resolve).off('close', resolve)
  }
  return stdout.writable
}

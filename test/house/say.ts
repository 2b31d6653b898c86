import { writeSync } from 'node:fs'

/** Writes a line of a report at once. A reader such as `head` may leave early: that is not an error. */
export function say(line: string): void {
  try {
    writeSync(1, `${line}\n`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error
  }
}

import { setTimeout as delay } from 'node:timers/promises'
import { RecordConflictError } from '../stores/records/records.ts'

const attemptsMax = 200
const retryMsMax = 20

/**
 * Runs what takes the next number of a year until no one else has taken it first, so that numbers have no gap.
 * @throws RecordConflictError when others were faster all the time
 */
export async function withNextNumber<T>(
  last: () => Promise<number>,
  take: (number: number) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    const number = (await last()) + 1
    try {
      return await take(number)
    } catch (error) {
      if (!(error instanceof RecordConflictError) || attempt === attemptsMax) throw error
    }
    await delay(Math.random() * retryMsMax)
  }
}

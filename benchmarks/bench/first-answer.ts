import { setTimeout as delay } from 'node:timers/promises'
import { RawConnection } from './raw-connection.ts'
import { requestTo } from './requests.ts'
import type { Target } from './targets.ts'

const patienceMs = 120_000

/** From a target's start until it has answered its first request, in milliseconds. */
export async function firstAnswerMs(target: Pick<Target, 'port' | 'headers' | 'beganMs'>): Promise<number> {
  const request = Buffer.from(requestTo(target), 'latin1')
  let problem: unknown
  while (performance.now() - target.beganMs < patienceMs) {
    const connection = new RawConnection(target.port)
    try {
      const { status, endMs } = await connection.ask(request)
      if (status === 200) return endMs - target.beganMs
      problem = new Error(`It answered with ${status}.`)
    } catch (error) {
      problem = error
    } finally {
      connection.close()
    }
    await delay(5)
  }
  throw new Error('The first request was not answered.', { cause: problem })
}

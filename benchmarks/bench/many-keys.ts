import { firstAnswerMs } from './first-answer.ts'
import { gateway } from './targets.ts'

/** What a gateway is like when its store has many keys. */
export interface ManyKeys {
  readonly keys: number
  /** After its first answer. */
  readonly bytes: number
  /** From its start until that answer. */
  readonly startMs: number
}

/** A gateway of its own, on a store that has been filled before. */
export async function measureManyKeys(upstreamPort: number, keys: number): Promise<ManyKeys> {
  const target = await gateway('gateway, many keys', upstreamPort, { moreKeys: keys - 1 })()
  try {
    const startMs = await firstAnswerMs(target)
    return { keys, bytes: target.rssBytes(), startMs }
  } finally {
    await target.stop()
  }
}

import { randomFillSync } from 'node:crypto'
import { systemClock } from './clock.ts'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const timeLength = 10
const randomLength = 16

// One call to the system's generator serves many ids.
const pool = Buffer.allocUnsafe(randomLength * 256)
let poolOffset = pool.length

let lastMs = -1
let lastTime = ''

function timePart(ms: number): string {
  if (ms === lastMs) return lastTime
  let text = ''
  let rest = ms
  for (let index = 0; index < timeLength; index += 1) {
    text = alphabet.charAt(rest % 32) + text
    rest = Math.floor(rest / 32)
  }
  lastMs = ms
  lastTime = text
  return text
}

/** Whether a text can be one of our ids; for anything else no look-up is needed. */
export function isId(text: string): boolean {
  return /^[0-9a-z]{26}$/.test(text)
}

/**
 * A new ULID in lower case: 26 characters, 80 random bits. Ids start with their time, so that rows keyed by them are
 * appended to a table instead of scattered over it.
 */
export function newId(ms: number = systemClock.now()): string {
  if (poolOffset === pool.length) {
    randomFillSync(pool)
    poolOffset = 0
  }
  let text = timePart(ms)
  for (let index = 0; index < randomLength; index += 1) {
    text += alphabet.charAt(pool.readUInt8(poolOffset + index) & 31)
  }
  poolOffset += randomLength
  return text
}

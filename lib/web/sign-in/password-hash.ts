import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { LedgerUnavailableError } from '../../ledger/ledger.ts'

/** Parameters of scrypt, by its own names. */
export interface PasswordCost {
  readonly N: number
  readonly r: number
  readonly p: number
}

/** 16 MiB and five rounds: OWASP's minimum for scrypt, a tenth of a second on one core. */
const costDefault: PasswordCost = { N: 2 ** 14, r: 8, p: 5 }
const hashBytes = 32
const saltBytes = 16
const form = /^scrypt\$(\d{1,8})\$(\d{1,3})\$(\d{1,3})\$([\w-]{22})\$([\w-]{43})$/

/** Concurrent hashes: the thread pool is shared, and the gateway's own work must not wait for strangers' sign-ins. */
const runningMax = 2
const waitingMax = 200

let running = 0
const waiting: (() => void)[] = []

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running >= runningMax) {
    if (waiting.length >= waitingMax)
      throw new LedgerUnavailableError('too many passwords are checked at once')
    await new Promise<void>(resolve => waiting.push(resolve))
  } else running += 1
  try {
    return await work()
  } finally {
    const next = waiting.shift()
    // The next waiting call takes over the slot.
    if (next === undefined) running -= 1
    else next()
  }
}

function derive(password: string, salt: Buffer, options: PasswordCost): Promise<Buffer> {
  // The same password may be composed differently on two systems (RFC 8265).
  const text = password.normalize('NFKC')
  const maxmem = 256 * options.N * options.r + 2 ** 20
  return new Promise((resolve, reject) => {
    scrypt(text, salt, hashBytes, { ...options, maxmem }, (error, key) =>
      error === null ? resolve(key) : reject(error),
    )
  })
}

/** The stored form of a password: its hash with a random salt and the parameters. */
export async function hashPassword(password: string, cost: PasswordCost = costDefault): Promise<string> {
  const salt = randomBytes(saltBytes)
  const key = await inTurn(() => derive(password, salt, cost))
  return ['scrypt', cost.N, cost.r, cost.p, salt.toString('base64url'), key.toString('base64url')].join('$')
}

/** Whether a password matches a hash; a malformed hash matches none. */
export async function verifyPassword({
  hash,
  password,
}: {
  readonly hash: string
  readonly password: string
}): Promise<boolean> {
  const [, N, r, p, salt = '', expected = ''] = form.exec(hash) ?? []
  if (expected === '') return false
  const options = { N: Number(N), r: Number(r), p: Number(p) }
  const key = await inTurn(() => derive(password, Buffer.from(salt, 'base64url'), options))
  return timingSafeEqual(key, Buffer.from(expected, 'base64url'))
}

import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { LedgerUnavailableError } from '../../ledger/ledger.ts'

/** What scrypt works with, by its own names. */
export interface PasswordCost {
  readonly N: number
  readonly r: number
  readonly p: number
}

/** 16 MiB and five rounds: what OWASP asks of scrypt at least, for a tenth of a second of one core. */
const costDefault: PasswordCost = { N: 2 ** 14, r: 8, p: 5 }
const hashBytes = 32
const saltBytes = 16
const form = /^scrypt\$(\d{1,8})\$(\d{1,3})\$(\d{1,3})\$([\w-]{22})\$([\w-]{43})$/

/** So many at once: the threads are everybody's, and the gateway's own work must not wait behind strangers. */
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
    // Who waited takes over the place.
    if (next === undefined) running -= 1
    else next()
  }
}

function derive(password: string, salt: Buffer, options: PasswordCost): Promise<Buffer> {
  // The same password typed on two systems may be composed differently (RFC 8265).
  const text = password.normalize('NFKC')
  const maxmem = 256 * options.N * options.r + 2 ** 20
  return new Promise((resolve, reject) => {
    scrypt(text, salt, hashBytes, { ...options, maxmem }, (error, key) =>
      error === null ? resolve(key) : reject(error),
    )
  })
}

/** What is stored of a password: its hash with a salt of its own and what it was made with. */
export async function hashPassword(password: string, cost: PasswordCost = costDefault): Promise<string> {
  const salt = randomBytes(saltBytes)
  const key = await inTurn(() => derive(password, salt, cost))
  return ['scrypt', cost.N, cost.r, cost.p, salt.toString('base64url'), key.toString('base64url')].join('$')
}

/** Whether a password is the one of a hash; what is no hash is nobody's. */
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

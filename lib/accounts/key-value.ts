import { hash, randomBytes } from 'node:crypto'

/** A new key's value: `gw-` and 32 random bytes. */
export function newKeyValue(): string {
  return `gw-${randomBytes(32).toString('base64url')}`
}

/** What is stored of a key's value. 256 random bits need no slow hash: nobody can guess their way back. */
export function keyDigest(value: string): string {
  return hash('sha256', value, 'base64url')
}

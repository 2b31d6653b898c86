import type { KeyDirectory, KeyRecord } from './accounts.ts'
import { hash, randomBytes } from 'node:crypto'

/** A new key's value: `gw-` and 32 random bytes. */
export function newKeyValue(): string {
  return `gw-${randomBytes(32).toString('base64url')}`
}

/** The digest of a key's value, which is stored. 256 random bits need no slow hash: they cannot be guessed. */
export function keyDigest(value: string): string {
  return hash('sha256', value, 'base64url')
}

/** All keys by digest. Revoked ones stay, so that their users get the reason. */
export class MemoryKeyDirectory implements KeyDirectory {
  readonly #byDigest = new Map<string, KeyRecord>()
  readonly #digestById = new Map<string, string>()

  findByDigest(digest: string): KeyRecord | undefined {
    return this.#byDigest.get(digest)
  }

  findById(id: string): KeyRecord | undefined {
    const digest = this.#digestById.get(id)
    return digest === undefined ? undefined : this.#byDigest.get(digest)
  }

  put(digest: string, key: KeyRecord): void {
    this.#byDigest.set(digest, Object.freeze(key))
    this.#digestById.set(key.id, digest)
  }

  /** @param blockedAt null ends the block */
  block(accountId: string, blockedAt: number | null): void {
    for (const [digest, key] of this.#byDigest) {
      if (key.accountId !== accountId) continue
      const { blockedAt: _, ...rest } = key
      this.put(digest, blockedAt === null ? rest : { ...rest, blockedAt })
    }
  }

  /** Stores a key as it was edited. A revocation or block that arrived meanwhile stays. */
  edit(edited: KeyRecord): KeyRecord {
    const digest = this.#digestById.get(edited.id)
    const known = this.findById(edited.id)
    if (digest === undefined || known === undefined) return edited
    const { revokedAt, blockedAt } = known
    const { revokedAt: _, blockedAt: __, ...rest } = edited
    const key = {
      ...rest,
      ...(revokedAt !== undefined && { revokedAt }),
      ...(blockedAt !== undefined && { blockedAt }),
    }
    this.put(digest, key)
    return key
  }

  revoke(id: string, revokedAt: number): void {
    const digest = this.#digestById.get(id)
    const key = this.findById(id)
    if (digest !== undefined && key !== undefined) this.put(digest, { ...key, revokedAt })
  }
}

/** A 32-bit FNV-1a hash whose bits are mixed once more, so that names that differ in a letter lie far apart. */
export function hashText(text: string, seed = 0x811c9dc5): number {
  let hash = seed
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d)
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b)
  return (hash ^ (hash >>> 16)) >>> 0
}

/**
 * How much a choice suits a key: the choice with the highest score is the key's own (weighted rendezvous
 * hashing). When one falls away only its keys move, and they come back when it does.
 */
export function rendezvousScore(keyHash: number, choice: string, weight: number): number {
  const share = (hashText(choice, keyHash) + 1) / 4_294_967_297
  return -weight / Math.log(share)
}

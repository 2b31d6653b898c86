/** A 32-bit FNV-1a hash with a final mix, so that names that differ in one letter hash far apart. */
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
 * The weighted rendezvous score of a choice for a key: the choice with the highest score is the key's. When a choice is
 * removed, only its keys move, and they return when it does.
 */
export function rendezvousScore(keyHash: number, choice: string, weight: number): number {
  const share = (hashText(choice, keyHash) + 1) / 4_294_967_297
  return -weight / Math.log(share)
}

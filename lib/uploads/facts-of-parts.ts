import type { Ledger } from '../ledger/ledger.ts'
import type { NamedObject, ObjectFacts } from '../money/usage.ts'

/**
 * What is known of a file that was put together from parts: all of it when there was one only, else its size,
 * and its type by how it begins. Undefined when a part is not known.
 */
export async function factsOfParts(
  ledger: Pick<Ledger, 'findObject'>,
  provider: string,
  parts: readonly NamedObject[],
): Promise<ObjectFacts | undefined> {
  const known = await Promise.all(
    parts.map(async ({ kind, id }) => (await ledger.findObject(provider, kind, id))?.facts),
  )
  const [first] = known
  if (first === undefined || known.length === 1) return first
  let bytes = 0
  for (const facts of known) {
    if (facts?.bytes === undefined) return undefined
    bytes += facts.bytes
  }
  return { bytes, ...(first.mediaType !== undefined && { mediaType: first.mediaType }) }
}

/** The name of a type that our own signatures do not hold, such as an archive's; undefined when nobody knows it. */
export async function knownType(head: Buffer): Promise<string | undefined> {
  // Loaded by the first file that our own signatures do not know, as most requests have none.
  const { fileTypeFromBuffer } = await import('file-type')
  try {
    return (await fileTypeFromBuffer(head))?.mime
  } catch {
    // It reads further than the head reaches: what the type would be is not known.
    return undefined
  }
}

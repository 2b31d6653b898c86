/** Reads a whole body; undefined when it is longer than the limit, and then the rest of it is not read. */
export async function readBody(chunks: AsyncIterable<Buffer>, bytesMax: number): Promise<Buffer | undefined> {
  const read: Buffer[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > bytesMax) return undefined
    read.push(chunk)
  }
  return Buffer.concat(read)
}

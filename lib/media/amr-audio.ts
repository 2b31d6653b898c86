import type { MediaReader } from './media-reader.ts'

const frameSeconds = 0.02
/** Bytes behind the first of a frame, by its type (RFC 4867, 3.6); others have none. */
const narrowBytes = [12, 13, 15, 17, 19, 20, 26, 31, 5]
const wideBytes = [17, 23, 32, 36, 40, 46, 50, 58, 60, 5]
const narrowStart = '#!AMR\n'
const wideStart = '#!AMR-WB\n'

/** The length of speech in AMR (RFC 4867, section 5): the sum over its frames, as it has no header that tells it. */
export async function amrSeconds(reader: MediaReader): Promise<number | undefined> {
  const start = (await reader.read(0, wideStart.length)).toString('latin1')
  const isWide = start === wideStart
  if (!isWide && !start.startsWith(narrowStart)) return undefined
  const sizes = isWide ? wideBytes : narrowBytes
  let position = isWide ? wideStart.length : narrowStart.length
  let frames = 0
  for (;;) {
    const window = await reader.window(position, 1)
    if (window.length === 0) break
    let at = 0
    for (; at < window.length; frames++) at += 1 + (sizes[((window[at] as number) >> 3) & 15] ?? 0)
    position += at
  }
  return frames === 0 ? undefined : frames * frameSeconds
}

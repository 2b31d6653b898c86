import { readFileSync, statSync } from 'node:fs'

/** Signature and stamp at 300 dots an inch are far below. */
const facsimileBytesMax = 512 * 1024

const pngHead = Buffer.from('89504e470d0a1a0a', 'hex')
const pngEnd = Buffer.from('49454e44ae426082', 'hex')
const jpegHead = Buffer.from('ffd8ff', 'hex')
const jpegEnd = Buffer.from('ffd9', 'hex')

/**
 * An image of signature and stamp as a `data:` URL, read when the configuration is: what replaces the file later
 * changes nothing before the configuration is read again.
 * @returns what is wrong with it as `problem`
 */
export function readFacsimile(file: string): { readonly url: string } | { readonly problem: string } {
  const { size } = statSync(file, { throwIfNoEntry: false }) ?? {}
  if (size === undefined) return { problem: `there is no file ${file}` }
  if (size > facsimileBytesMax) {
    return { problem: `${file} has ${size} bytes; at most ${facsimileBytesMax} are kept with documents` }
  }
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
  } catch (error) {
    return { problem: `${file} cannot be read: ${(error as Error).message}` }
  }
  const type = typeOf(bytes)
  if (type === undefined) return { problem: `${file} is neither a PNG nor a JPEG image` }
  if (!bytes.subarray(-pngEnd.length).includes(type === 'png' ? pngEnd : jpegEnd)) {
    return { problem: `${file} is cut off: the end of the image is missing` }
  }
  return { url: `data:image/${type};base64,${bytes.toString('base64')}` }
}

function typeOf(bytes: Buffer): 'png' | 'jpeg' | undefined {
  if (bytes.subarray(0, pngHead.length).equals(pngHead)) return 'png'
  return bytes.subarray(0, jpegHead.length).equals(jpegHead) ? 'jpeg' : undefined
}

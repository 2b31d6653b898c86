import type { Finding } from './json-scan.ts'
import type { MultipartPart } from './multipart-scan.ts'
import type { NamedObject } from '../money/usage.ts'

interface Signature {
  readonly type: string
  readonly bytes: Buffer
  /** Bytes that must stand further on, such as the form type of RIFF. */
  readonly then?: { readonly offset: number; readonly bytes: Buffer }
}

const riff = Buffer.from('RIFF')
const signatures: readonly Signature[] = [
  { type: 'image/jpeg', bytes: Buffer.from('ffd8ff', 'hex') },
  { type: 'image/png', bytes: Buffer.from('89504e470d0a1a0a', 'hex') },
  { type: 'image/gif', bytes: Buffer.from('GIF87a') },
  { type: 'image/gif', bytes: Buffer.from('GIF89a') },
  { type: 'image/webp', bytes: riff, then: { offset: 8, bytes: Buffer.from('WEBP') } },
  { type: 'audio/wav', bytes: riff, then: { offset: 8, bytes: Buffer.from('WAVE') } },
  { type: 'audio/wav', bytes: Buffer.from('RF64'), then: { offset: 8, bytes: Buffer.from('WAVE') } },
  { type: 'video/x-msvideo', bytes: riff, then: { offset: 8, bytes: Buffer.from('AVI ') } },
  { type: 'audio/aiff', bytes: Buffer.from('FORM'), then: { offset: 8, bytes: Buffer.from('AIF') } },
  { type: 'image/bmp', bytes: Buffer.from('BM'), then: { offset: 6, bytes: Buffer.alloc(4) } },
  { type: 'image/tiff', bytes: Buffer.from('II*\0', 'latin1') },
  { type: 'image/tiff', bytes: Buffer.from('MM\0*', 'latin1') },
  { type: 'application/pdf', bytes: Buffer.from('%PDF-') },
  { type: 'audio/mpeg', bytes: Buffer.from('ID3') },
  { type: 'audio/flac', bytes: Buffer.from('fLaC') },
  { type: 'audio/amr', bytes: Buffer.from('#!AMR') },
  { type: 'video/x-flv', bytes: Buffer.from('FLV\u0001') },
  { type: 'video/mpeg', bytes: Buffer.from('000001ba', 'hex') },
  { type: 'video/mpeg', bytes: Buffer.from('000001b3', 'hex') },
  { type: 'video/x-ms-wmv', bytes: Buffer.from('3026b2758e66cf11', 'hex') },
  { type: 'application/zip', bytes: Buffer.from('504b0304', 'hex') },
  { type: 'application/gzip', bytes: Buffer.from('1f8b08', 'hex') },
]

const ogg = Buffer.from('OggS')
const matroska = Buffer.from('1a45dfa3', 'hex')
const pdf = Buffer.from('%PDF-')
/** Readers accept a PDF whose header stands within the first 1024 bytes. */
const pdfSearchBytes = 1024
const transportPacketBytes = 188

const brands = new Map([
  ['avif', 'image/avif'],
  ['avis', 'image/avif'],
  ['heic', 'image/heic'],
  ['heix', 'image/heic'],
  ['heim', 'image/heic'],
  ['heis', 'image/heic'],
  ['hevc', 'image/heic'],
  ['hevx', 'image/heic'],
  ['mif1', 'image/heif'],
  ['msf1', 'image/heif'],
  ['M4A ', 'audio/mp4'],
  ['M4B ', 'audio/mp4'],
  ['M4P ', 'audio/mp4'],
  ['F4A ', 'audio/mp4'],
  ['qt  ', 'video/quicktime'],
])

/** Boxes that QuickTime files without a brand begin with. */
const unbranded = new Set(['moov', 'mdat', 'wide'])

/** The ISO base media family (MP4, MOV, M4A, HEIC, AVIF), told apart by the brands of the first box. */
function isoMediaType(head: Buffer): string | undefined {
  if (head.length < 12) return undefined
  const box = head.toString('latin1', 4, 8)
  if (unbranded.has(box)) return 'video/quicktime'
  if (box !== 'ftyp') return undefined
  const major = head.toString('latin1', 8, 12)
  const size = Math.min(head.readUInt32BE(0), head.length)
  const named = brands.get(major)
  // `mif1` says image only; the compatible brands say which coding.
  if (named !== undefined && named !== 'image/heif') return named
  for (let offset = 16; named !== undefined && offset + 4 <= size; offset += 4) {
    const compatible = brands.get(head.toString('latin1', offset, offset + 4))
    if (compatible === 'image/avif' || compatible === 'image/heic') return compatible
  }
  if (named !== undefined) return named
  return major.startsWith('3g') ? 'video/3gpp' : 'video/mp4'
}

/** What the first bytes say a file is; undefined when they say nothing known. 4096 bytes are plenty. */
export function detectMediaType(head: Buffer): string | undefined {
  for (const { type, bytes, then } of signatures) {
    if (has(head, 0, bytes) && (then === undefined || has(head, then.offset, then.bytes))) return type
  }
  if (has(head, 0, ogg)) return head.subarray(0, 512).includes('theora') ? 'video/ogg' : 'audio/ogg'
  if (has(head, 0, matroska))
    return head.subarray(0, 128).includes('webm') ? 'video/webm' : 'video/x-matroska'
  return isoMediaType(head) ?? mpegType(head) ?? textType(head) ?? latePdf(head)
}

/** The kind of a media type: `image/png` is an image. */
export function mediaKind(type: string): MediaPart['kind'] {
  if (type.startsWith('image/')) return 'image'
  if (type.startsWith('audio/')) return 'audio'
  if (type.startsWith('video/')) return 'video'
  const isDocument =
    type === 'application/pdf' ||
    type.startsWith('text/') ||
    type === 'application/json' ||
    type === 'application/rtf' ||
    type === 'application/msword' ||
    type.startsWith('application/vnd.')
  return isDocument ? 'document' : 'other'
}

function has(head: Buffer, offset: number, bytes: Buffer): boolean {
  if (head.length < offset + bytes.length) return false
  for (let index = 0; index < bytes.length; index++) {
    if (head[offset + index] !== bytes[index]) return false
  }
  return true
}

/** Audio without a container begins with a frame header, whose reserved values tell it from chance. */
function mpegType(head: Buffer): string | undefined {
  const [first = 0, second = 0, third = 0] = head
  if (first === 0x47 && head[transportPacketBytes] === 0x47) return 'video/mp2t'
  if (first !== 0xff || (second & 0xe0) !== 0xe0 || head.length < 4) return undefined
  const layer = (second >> 1) & 3
  if (layer === 0) return (second & 0xf0) === 0xf0 && ((third >> 2) & 15) < 13 ? 'audio/aac' : undefined
  const isReserved = ((second >> 3) & 3) === 1 || third >> 4 === 15 || ((third >> 2) & 3) === 3
  return isReserved ? undefined : 'audio/mpeg'
}

function textType(head: Buffer): string | undefined {
  const text = head.toString('latin1', 0, 1024).replace(/^(?:\xef\xbb\xbf)?\s+|^\xef\xbb\xbf/, '')
  if (!text.startsWith('<')) return undefined
  const lower = text.toLowerCase()
  if (lower.startsWith('<!doctype html') || lower.startsWith('<html')) return 'text/html'
  const isMarkup = lower.startsWith('<svg') || lower.startsWith('<?xml') || lower.startsWith('<!')
  return isMarkup && lower.includes('<svg') ? 'image/svg+xml' : undefined
}

function latePdf(head: Buffer): string | undefined {
  return head.subarray(0, pdfSearchBytes).includes(pdf) ? 'application/pdf' : undefined
}

/** An image, audio, video or document inside a request body, measured without keeping it. */
export interface MediaPart {
  /** Where it stands: `messages[3].content[1].source`, or `image` for a multipart field. */
  readonly path: string
  readonly kind: 'image' | 'audio' | 'video' | 'document' | 'other'
  /** What the request says it is, lower-case; undefined where it says nothing. */
  readonly declaredType?: string
  /** What its first bytes say it is: `image/png`; undefined when they say nothing known. */
  readonly detectedType?: string
  /** Decoded size; undefined for a URL, which the provider fetches itself. */
  readonly bytes?: number
  /** Base64 that does not decode. */
  readonly isInvalid?: boolean
  /** Base64 in a JSON string, bare or in a data URL; a form has the bytes themselves. */
  readonly encoding?: 'base64' | 'dataUrl'
  /** A data URL where base64 alone belongs. */
  readonly isPrefixed?: boolean
  /** What the field that holds it is for, where it is for one kind only. */
  readonly fieldKind?: MediaPart['kind']
  /** It was uploaded before, and is named here. */
  readonly object?: NamedObject
  /** Of audio and video, by the content. */
  readonly seconds?: number
  /** Of a PDF. */
  readonly pages?: number
  /** Of an image, in pixels. */
  readonly width?: number
  readonly height?: number
  /** Where it begins in the body, and how many bytes of it it takes up. */
  readonly bodyStart: number
  readonly bodyBytes: number
}

/** Samples and nothing else: whatever their first bytes look like is chance. */
const rawAudio = new Set(
  'audio/l8 audio/l16 audio/l24 audio/pcm audio/raw audio/basic audio/pcma audio/pcmu'.split(' '),
)
/** Containers that hold audio alone as often as video: what the request calls them decides. */
const audioOrVideo = new Set(
  'video/webm video/mp4 video/x-matroska video/ogg video/3gpp audio/ogg'.split(' '),
)

/**
 * A string found with `keep: 'base64'`: base64, a data URL, or an address. `declaredType` is what stands
 * beside it in the body; a data URL's own type counts where nothing does. `kindWhenUnknown` is what the
 * field is for, such as image for `image_url`; `path` is what the part is called by.
 */
export function mediaPartFromBase64(
  finding: Finding,
  declaredType?: string,
  kindWhenUnknown: MediaPart['kind'] = 'other',
  path = finding.path,
): MediaPart {
  const { base64 } = finding
  const declared = typeOnly(declaredType) ?? base64?.declaredType
  const bodyBytes = finding.end - finding.start
  const isMeasured = base64 !== undefined && base64.isUrl !== true
  const detected = isMeasured ? detect(base64.head, declared) : undefined
  return {
    path,
    kind: kindOf(declared, detected, kindWhenUnknown),
    ...(declared !== undefined && { declaredType: declared }),
    ...(detected !== undefined && { detectedType: detected }),
    ...(isMeasured && { bytes: base64.bytes, encoding: base64.isDataUrl === true ? 'dataUrl' : 'base64' }),
    ...(base64?.isValid !== true && { isInvalid: true }),
    ...(kindWhenUnknown !== 'other' && { fieldKind: kindWhenUnknown }),
    bodyStart: finding.start,
    bodyBytes,
  }
}

/** A file field of a form. */
export function mediaPartFromMultipart(
  part: MultipartPart,
  kindWhenUnknown: MediaPart['kind'] = 'other',
): MediaPart {
  const declared = typeOnly(part.contentType)
  const bytes = part.end - part.start
  const detected = detect(part.head, declared)
  return {
    path: part.name,
    kind: kindOf(declared, detected, kindWhenUnknown),
    ...(declared !== undefined && { declaredType: declared }),
    ...(detected !== undefined && { detectedType: detected }),
    bytes,
    ...(kindWhenUnknown !== 'other' && { fieldKind: kindWhenUnknown }),
    bodyStart: part.start,
    bodyBytes: bytes,
  }
}

/** The content counts before what it is called, or a video could be sent as a text. */
function kindOf(
  declared: string | undefined,
  detected: string | undefined,
  kindWhenUnknown: MediaPart['kind'],
): MediaPart['kind'] {
  const declaredKind = declared === undefined ? 'other' : mediaKind(declared)
  if (detected !== undefined) {
    const isEither = declaredKind === 'audio' || declaredKind === 'video'
    if (isEither && audioOrVideo.has(detected)) return declaredKind
    // An SVG is a text, and may be sent as one.
    if (declaredKind === 'document' && detected === 'image/svg+xml') return declaredKind
    return mediaKind(detected)
  }
  return declaredKind === 'other' ? kindWhenUnknown : declaredKind
}

function detect(head: Buffer, declared: string | undefined): string | undefined {
  return declared !== undefined && rawAudio.has(declared) ? undefined : detectMediaType(head)
}

function typeOnly(type: string | undefined): string | undefined {
  const only = type?.split(';', 1)[0]?.trim().toLowerCase()
  return only === '' ? undefined : only
}

import type { Finding } from './json-scan.ts'
import type { MultipartPart } from './multipart-scan.ts'
import type { NamedObject } from '../money/usage.ts'

interface Signature {
  readonly type: string
  readonly bytes: Buffer
  /** Bytes that must follow at an offset, such as the form type of RIFF. */
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
/** Readers accept a PDF whose header is within the first 1024 bytes. */
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

/** The first boxes of QuickTime files without a brand. */
const unbranded = new Set(['moov', 'mdat', 'wide'])

/** The ISO base media family (MP4, MOV, M4A, HEIC, AVIF), distinguished by the brands of the first box. */
function isoMediaType(head: Buffer): string | undefined {
  if (head.length < 12) return undefined
  const box = head.toString('latin1', 4, 8)
  if (unbranded.has(box)) return 'video/quicktime'
  if (box !== 'ftyp') return undefined
  const major = head.toString('latin1', 8, 12)
  const size = Math.min(head.readUInt32BE(0), head.length)
  const named = brands.get(major)
  // `mif1` only means an image; the compatible brands give the coding.
  if (named !== undefined && named !== 'image/heif') return named
  for (let offset = 16; named !== undefined && offset + 4 <= size; offset += 4) {
    const compatible = brands.get(head.toString('latin1', offset, offset + 4))
    if (compatible === 'image/avif' || compatible === 'image/heic') return compatible
  }
  if (named !== undefined) return named
  return major.startsWith('3g') ? 'video/3gpp' : 'video/mp4'
}

/** The media type by the first bytes of a file; undefined when it is unknown. 4096 bytes are plenty. */
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

/** Audio without a container starts with a frame header, whose reserved values exclude most chance matches. */
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
  /** Its position: `messages[3].content[1].source`, or `image` for a multipart field. */
  readonly path: string
  readonly kind: 'image' | 'audio' | 'video' | 'document' | 'other'
  /** The type that the request declares, lower-case; undefined where it declares none. */
  readonly declaredType?: string
  /** The type by the first bytes: `image/png`; undefined when it is unknown. */
  readonly detectedType?: string
  /** Decoded size; undefined for a URL, which the provider fetches itself. */
  readonly bytes?: number
  /** Base64 that cannot be decoded. */
  readonly isInvalid?: boolean
  /** Base64 in a JSON string, bare or in a data URL; a form has the bytes themselves. */
  readonly encoding?: 'base64' | 'dataUrl'
  /** A data URL where only base64 is allowed. */
  readonly isPrefixed?: boolean
  /** The kind that its field is for, where it is for one kind only. */
  readonly fieldKind?: MediaPart['kind']
  /** An object that was uploaded earlier and is named here. */
  readonly object?: NamedObject
  /** For audio and video, by the content. */
  readonly seconds?: number
  /** For a PDF. */
  readonly pages?: number
  /** For an image, in pixels. */
  readonly width?: number
  readonly height?: number
  /** Where it starts in the body, and how many bytes of the body it takes. */
  readonly bodyStart: number
  readonly bodyBytes: number
}

/** Raw samples: their first bytes identify nothing, and any match is chance. */
const rawAudio = new Set(
  'audio/l8 audio/l16 audio/l24 audio/pcm audio/raw audio/basic audio/pcma audio/pcmu'.split(' '),
)
/** Containers that hold only audio as often as video: the type that the request declares decides. */
const audioOrVideo = new Set(
  'video/webm video/mp4 video/x-matroska video/ogg video/3gpp audio/ogg'.split(' '),
)

/**
 * The part for a string found with `keep: 'base64'`: base64, a data URL, or an address. `declaredType` is the type next
 * to it in the body; a data URL's own type is used where there is none. `kindWhenUnknown` is what the field is for,
 * such as image for `image_url`; `path` is the part's path.
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

/** The part for a file field of a form. */
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

/** The content takes precedence over the declared type, or a video could be sent as a text. */
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

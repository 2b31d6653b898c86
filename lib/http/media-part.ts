import type { Finding } from './json-scan.ts'
import { detectMediaType, mediaKind } from './media-sniff.ts'
import type { MultipartPart } from './multipart-scan.ts'
import type { NamedObject } from '../money/usage.ts'

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

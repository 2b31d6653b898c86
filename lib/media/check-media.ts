import { GatewayError } from '../pipeline/errors.ts'
import { type MediaPart, mediaKind } from '../http/media-part.ts'
import type { MediaLimits } from '../config/plugin-options.ts'

/** Other names of a type. */
const aliases: ReadonlyMap<string, string> = new Map([
  ['image/jpg', 'image/jpeg'],
  ['image/pjpeg', 'image/jpeg'],
  ['image/x-png', 'image/png'],
  // One family, whose files name several brands.
  ['image/heif', 'image/heic'],
  ['image/heic-sequence', 'image/heic'],
  ['image/heif-sequence', 'image/heic'],
  ['application/x-pdf', 'application/pdf'],
])

const playing: readonly (MediaPart['kind'] | undefined)[] = ['audio', 'video']

/**
 * Refuses media whose content differs from their label, where providers refuse them too: PDFs by their exact type,
 * audio and video by their kind, since players check the content, and images by their type or by their kind.
 * @param areTypesExact whether the provider accepts an image only as its declared type
 * @returns a warning for the response, if an image has another type than declared
 * @throws GatewayError media_type, with both names
 */
export function checkLabel(part: MediaPart, areTypesExact: boolean): string | undefined {
  const { detectedType: found, path } = part
  // Media without bytes here cannot be checked.
  if (part.bytes === undefined) return undefined
  const called = expectation(part)
  if (called === undefined) return undefined
  if (found === undefined) {
    if (called.kind !== 'image' && called.type !== 'application/pdf') return undefined
    throw refusal(part, called.name)
  }
  if (isWhatItIsCalled(called, found)) return undefined
  if (areTypesExact || called.kind !== 'image' || mediaKind(found) !== 'image')
    throw refusal(part, called.name)
  return `media_label; part=${asHeaderText(path)}; called=${asHeaderText(called.name)}; found=${found}`
}

interface Called {
  readonly kind: MediaPart['kind']
  /** Undefined if only the field implies the kind. */
  readonly type?: string
  readonly name: string
}

/** The declared type, or the kind of the field if none is declared. */
function expectation({ declaredType, fieldKind }: MediaPart): Called | undefined {
  const kind = declaredType === undefined ? 'other' : mediaKind(declaredType)
  if (declaredType !== undefined && kind !== 'other') {
    // `image/*` declares the kind alone.
    return declaredType.endsWith('/*')
      ? { kind, name: declaredType }
      : { kind, type: aliases.get(declaredType) ?? declaredType, name: declaredType }
  }
  if (fieldKind === undefined || fieldKind === 'document') return undefined
  return {
    kind: fieldKind,
    name: { image: 'an image', audio: 'audio', video: 'a video', other: '' }[fieldKind],
  }
}

function isWhatItIsCalled({ kind, type }: Called, found: string): boolean {
  const foundKind = mediaKind(found)
  const foundType = aliases.get(found) ?? found
  // Text may speak of anything, an SVG is text, and office documents are archives.
  if (kind === 'document' && type !== 'application/pdf')
    return !playing.includes(foundKind) && (foundKind !== 'image' || found === 'image/svg+xml')
  if (playing.includes(kind)) return playing.includes(foundKind)
  return type === undefined ? kind === foundKind : type === foundType
}

/** Clients' text may contain any characters; a header value allows few. */
function asHeaderText(text: string): string {
  return text.slice(0, 200).replaceAll(/[^\w.[\]/+*-]/g, '_')
}

function refusal(
  { path, declaredType: declared, detectedType: detected }: MediaPart,
  called: string,
): GatewayError {
  return new GatewayError(
    'media_type',
    `${path} is called ${called} and is ${detected ?? 'of no known type'} by its content. Send it as what it is.`,
    {
      param: path,
      details: { ...(declared !== undefined && { declared }), ...(detected !== undefined && { detected }) },
    },
  )
}

/**
 * The images of one request: how many, how large, of which types.
 * @throws GatewayError media_too_many, media_too_large, media_type
 */
export function checkImages(parts: readonly MediaPart[], limits: MediaLimits): void {
  for (const image of fewOf('image', parts, limits.imagesMax)) checkImage(image, limits)
}

/** The parts of a kind, of which there may be so many and no more. */
function fewOf(
  kind: 'image' | 'video',
  parts: readonly MediaPart[],
  max: number | undefined,
): readonly MediaPart[] {
  const found = parts.filter(part => part.kind === kind)
  const firstTooMany = max === undefined ? undefined : found[max]
  if (firstTooMany === undefined) return found
  throw new GatewayError(
    'media_too_many',
    `The request has ${found.length} ${kind}s, and at most ${max} are accepted; the first too many is ${firstTooMany.path}.`,
    { param: firstTooMany.path },
  )
}

/** An image given by address has no bytes here. */
function checkImage({ bytes, path, detectedType: found }: MediaPart, limits: MediaLimits): void {
  if (bytes === undefined) return
  if (limits.imageBytesMax !== undefined && bytes > limits.imageBytesMax) {
    throw new GatewayError(
      'media_too_large',
      `The image at ${path} is ${bytes} bytes, and at most ${limits.imageBytesMax} are accepted.`,
      { param: path },
    )
  }
  if (limits.imageTypes === undefined) return
  if (found === undefined || !(limits.imageTypes as readonly string[]).includes(found)) {
    throw new GatewayError(
      'media_type',
      `The image at ${path} is ${found ?? 'of no known type'} by its content; accepted are ${limits.imageTypes.join(', ')}.`,
      { param: path },
    )
  }
}

/**
 * Checks the measured sides of the images of one request.
 * @throws GatewayError media_too_large
 */
export function checkPixels(parts: readonly MediaPart[], limits: MediaLimits): void {
  const images = parts.filter(part => part.kind === 'image')
  const { manyImages, imagePixelsMax } = limits
  const areMany = manyImages !== undefined && images.length > manyImages.above
  const sideMax = areMany ? manyImages.imageSideMax : limits.imageSideMax
  for (const { width, height, path } of images) {
    if (width === undefined || height === undefined) continue
    if (sideMax !== undefined && Math.max(width, height) > sideMax) {
      const why = areMany ? ` in a request with more than ${manyImages.above} images` : ''
      throw new GatewayError(
        'media_too_large',
        `The image at ${path} is ${width} x ${height} pixels, and at most ${sideMax} a side are accepted${why}.`,
        { param: path },
      )
    }
    if (imagePixelsMax !== undefined && width * height > imagePixelsMax) {
      throw new GatewayError(
        'media_too_large',
        `The image at ${path} is ${width} x ${height} pixels, and at most ${imagePixelsMax} in all are accepted.`,
        { param: path },
      )
    }
  }
}

/**
 * The PDFs of one request: how large and of how many pages, each and together.
 * @throws GatewayError media_too_large
 */
export function checkDocuments(parts: readonly MediaPart[], limits: MediaLimits): void {
  let allBytes = 0
  let allPages = 0
  for (const { kind, detectedType, bytes = 0, pages = 0, path } of parts) {
    if (kind !== 'document' || detectedType !== 'application/pdf') continue
    allBytes += bytes
    allPages += pages
    checkPdf(path, bytes, limits.pdfBytesMax, 'bytes')
    checkPdf(path, pages, limits.pdfPagesMax, 'pages')
    checkPdf(path, allBytes, limits.pdfBytesTotalMax, 'bytes', allBytes > bytes)
    checkPdf(path, allPages, limits.pdfPagesTotalMax, 'pages', allPages > pages)
  }
}

function checkPdf(
  path: string,
  found: number,
  max: number | undefined,
  unit: string,
  isTogether = false,
): void {
  if (max === undefined || found <= max) return
  const together = isTogether ? ' with the PDFs before it' : ''
  throw new GatewayError(
    'media_too_large',
    `The PDF at ${path} comes to ${found} ${unit}${together}, and at most ${max} are accepted.`,
    { param: path },
  )
}

/**
 * The videos and audio of one request: how many and how long together.
 * @returns a warning for the answer, where there is more audio than is heard without loss
 * @throws GatewayError media_too_many, media_too_long
 */
export function checkPlaytime(parts: readonly MediaPart[], limits: MediaLimits): string | undefined {
  checkSeconds('video', fewOf('video', parts, limits.videosMax), limits.videoSecondsMax)
  const audio = parts.filter(part => part.kind === 'audio')
  const audioSeconds = checkSeconds('audio', audio, limits.audioSecondsMax)
  const { audioSecondsWarn } = limits
  if (audioSecondsWarn === undefined || audioSeconds <= audioSecondsWarn) return undefined
  return `audio_long; seconds=${shortNumber(audioSeconds)}; limit=${audioSecondsWarn}; accuracy suffers beyond it`
}

/** Sums their lengths; media of unknown length count as zero. */
function checkSeconds(what: string, parts: readonly MediaPart[], secondsMax: number | undefined): number {
  let sum = 0
  for (const { seconds = 0, path } of parts) {
    sum += seconds
    if (secondsMax === undefined || sum <= secondsMax) continue
    const before = sum - seconds
    const together = before > 0 ? `, ${shortNumber(sum)} with the ${what} before it` : ''
    throw new GatewayError(
      'media_too_long',
      `The ${what} at ${path} is ${shortNumber(seconds)} seconds long${together}, and at most ${secondsMax} are accepted.`,
      { param: path },
    )
  }
  return sum
}

function shortNumber(seconds: number): string {
  return String(Math.round(seconds * 100) / 100)
}

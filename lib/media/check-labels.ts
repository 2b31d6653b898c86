import { GatewayError } from '../pipeline/errors.ts'
import type { MediaPart } from '../http/media-part.ts'
import { mediaKind } from '../http/media-sniff.ts'

/** One type under several names. */
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
 * Refuses what is called one thing and is another, where providers refuse it too: PDFs by their exact type, sound
 * and film by their kind, since players look at the content, and images by their type or by their kind.
 * @param areTypesExact the provider takes an image as the type alone that it is called
 * @returns a warning for the answer, where another type of image was found than is said
 * @throws GatewayError media_type, with both names
 */
export function checkLabel(part: MediaPart, areTypesExact: boolean): string | undefined {
  const { declaredType, detectedType: found, path } = part
  // What is not here cannot be looked at.
  if (part.bytes === undefined) return undefined
  const called = expectation(part)
  if (called === undefined) return undefined
  if (found === undefined) {
    if (called.kind !== 'image' && called.type !== 'application/pdf') return undefined
    throw refusal(path, called.name, 'of no known type', declaredType, found)
  }
  if (isWhatItIsCalled(called, found)) return undefined
  if (areTypesExact || called.kind !== 'image' || mediaKind(found) !== 'image') {
    throw refusal(path, called.name, found, declaredType, found)
  }
  return `media_label; part=${asHeaderText(path)}; called=${asHeaderText(called.name)}; found=${found}`
}

interface Called {
  readonly kind: MediaPart['kind']
  /** Undefined where only the field says what it is for. */
  readonly type?: string
  readonly name: string
}

/** What the request says, or the field is for where it says nothing. */
function expectation({ declaredType, fieldKind }: MediaPart): Called | undefined {
  const kind = declaredType === undefined ? 'other' : mediaKind(declaredType)
  if (declaredType !== undefined && kind !== 'other') {
    // `image/*` says the kind alone.
    return declaredType.endsWith('/*')
      ? { kind, name: declaredType }
      : { kind, type: aliases.get(declaredType) ?? declaredType, name: declaredType }
  }
  if (fieldKind === undefined || fieldKind === 'document') return undefined
  return {
    kind: fieldKind,
    name: { image: 'an image', audio: 'sound', video: 'a video', other: '' }[fieldKind],
  }
}

function isWhatItIsCalled({ kind, type }: Called, found: string): boolean {
  const foundKind = mediaKind(found)
  const foundType = aliases.get(found) ?? found
  // Text may speak of anything, an SVG is text, and office documents are archives.
  if (kind === 'document' && type !== 'application/pdf') {
    return !playing.includes(foundKind) && (foundKind !== 'image' || found === 'image/svg+xml')
  }
  if (playing.includes(kind)) return playing.includes(foundKind)
  return type === undefined ? kind === foundKind : type === foundType
}

/** What clients write may have any characters, of which a header's value takes few. */
function asHeaderText(text: string): string {
  return text.slice(0, 200).replaceAll(/[^\w.[\]/+*-]/g, '_')
}

function refusal(
  path: string,
  called: string,
  found: string,
  declared: string | undefined,
  detected: string | undefined,
): GatewayError {
  return new GatewayError(
    'media_type',
    `${path} is called ${called} and is ${found} by its content. Send it as what it is.`,
    {
      param: path,
      details: {
        ...(declared !== undefined && { declared }),
        ...(detected !== undefined && { detected }),
      },
    },
  )
}

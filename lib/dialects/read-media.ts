import { stringOf, type Base64Facts, type Finding, type ScanResult } from '../http/json-scan.ts'
import { mediaPartFromBase64, type MediaPart } from '../http/media-part.ts'
import { objectNamed, placeName } from './named-objects.ts'
import { addressName } from './naming-members.ts'
import { anyOf, list, object, value } from './interest.ts'

/** The names of the findings. */
export const askedMedia = { frames: 'framesPerSecond', modality: 'modality' } as const

/** The modalities in which a request wants its response: a list, or a single one without brackets. */
export const modalities = anyOf(value(askedMedia.modality), list(value(askedMedia.modality)))

/** https://ai.google.dev/api/caching#VideoMetadata */
const framesMax = 24
/** How many frames of a video Google reads. */
export const videoMembers = { videometadata: object({ fps: value(askedMedia.frames) }) }

/** The most frames read per second; undefined if it is one. */
export function framesIn({ findings }: ScanResult): number | undefined {
  let frames = 1
  for (const { name, type, raw } of findings) {
    if (name !== askedMedia.frames || type === 'null' || raw === undefined) continue
    // Google's servers accept a number as a string, too.
    const said = Number(JSON.parse(String(raw)))
    frames = Math.max(frames, Number.isFinite(said) ? said : framesMax)
  }
  return frames > 1 ? frames : undefined
}

/** Modalities by their names, or by their numbers in Google's enumeration. */
const isUndrawn = /^(?:"(?:text|audio|modality_unspecified)"|null|0|1|3)$/i

/** Anything that is not another modality may be an image, however it is spelled. */
export function writesImages({ findings }: ScanResult): true | undefined {
  const asked = findings.filter(({ name, type }) => name === askedMedia.modality && type !== 'array')
  return asked.some(({ raw }) => !isUndrawn.test(String(raw))) || undefined
}

/**
 * Names under which an interest reports media. The first four state the kind; the kind of `media` and `mediaUri` (an
 * address that is kept) follows from the members around them: `mediaType` beside the data, and a `blockType` beside it
 * or one level up. With a `sourceType` of `text` it is not media.
 */
const kinds: ReadonlyMap<string, MediaPart['kind']> = new Map([
  ['image', 'image'],
  ['audio', 'audio'],
  ['video', 'video'],
  ['document', 'document'],
])

/** The facts of an address that the provider fetches itself, which cannot be measured. */
const address: Base64Facts = { bytes: 0, head: Buffer.alloc(0), isValid: true, isUrl: true }

/** The places for the id of a file that the model reads. */
const shown = /\.file_id$|\.content\b.*file_id$/i

/** The findings to read in one step, which takes less than a millisecond. */
const findingsPerStep = 200

/** The media parts of a JSON body, in document order. */
export function readMedia(scan: ScanResult): readonly MediaPart[] {
  if (scan.media !== undefined) return scan.media
  if (!scan.findings.some(isMedia)) return []
  const steps = mediaSteps(scan)
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  return step.value
}

/** The same in steps, for bodies with thousands of them. */
export function* mediaSteps(scan: ScanResult): Generator<undefined, readonly MediaPart[]> {
  const labels = yield* labelsByParent(scan)
  const media: MediaPart[] = []
  for (const [index, finding] of scan.findings.entries()) {
    if (index % findingsPerStep === findingsPerStep - 1) yield undefined
    if (!isMedia(finding)) continue
    if (finding.name === addressName) {
      media.push(mediaPartFromBase64(finding))
      continue
    }
    const kind = kinds.get(finding.name)
    if (kind !== undefined) {
      media.push(mediaPartFromBase64(finding, undefined, kind))
      continue
    }
    const parent = parentOf(finding.path)
    const beside = labels?.byParent.get(parent)
    const block =
      labels?.hasBlocks === true
        ? (beside?.blockType ?? labels.byParent.get(parentOf(parent))?.blockType)
        : undefined
    if (isFileId(finding)) {
      const part = uploadedPart(finding, kinds.get(block ?? ''))
      if (part !== undefined && block !== 'container_upload') media.push(part)
      continue
    }
    if (beside?.sourceType === 'text') continue
    const measured = finding.name === 'mediaUri' ? { ...finding, base64: address } : finding
    // A part with its type beside it is named as a whole.
    const part = mediaPartFromBase64(measured, beside?.mediaType, kinds.get(block ?? ''), parent)
    media.push({
      ...part,
      ...(isPrefixed(finding) && { isPrefixed: true }),
      ...(finding.raw !== undefined && objectOf(finding)),
    })
  }
  return media
}

function isMedia(finding: Finding): boolean {
  if (finding.name === addressName)
    return finding.base64?.isUrl === true || finding.base64?.isDataUrl === true
  if (finding.name === placeName) return false
  const isName = finding.name === 'mediaUri' || isFileId(finding)
  return finding.base64 !== undefined || (isName && finding.type === 'string')
}

/** Anthropic and Google accept only plain base64 where the type is beside it. */
function isPrefixed({ name, path, base64 }: Finding): boolean {
  return name === 'media' && path.endsWith('data') && base64?.isDataUrl === true
}

/** An uploaded file that a message shows to the model; tools name theirs in lists. */
function isFileId({ name, path }: Finding): boolean {
  return name === 'names:file' && shown.test(path)
}

function uploadedPart(finding: Finding, kind: MediaPart['kind'] = 'other'): MediaPart | undefined {
  const object = objectOf(finding)
  if (object.object === undefined) return undefined
  return { ...mediaPartFromBase64({ ...finding, base64: address }, undefined, kind), kind, ...object }
}

function objectOf(finding: Finding): Pick<MediaPart, 'object'> {
  const text = finding.raw === undefined ? undefined : stringOf(finding)
  const object = objectNamed(finding.name, text)
  return object === undefined ? {} : { object }
}

/** The members that describe media beside them. */
interface Labels {
  mediaType?: string
  sourceType?: string
  blockType?: string
}

interface LabelsByParent {
  readonly byParent: Map<string, Labels>
  /** Whether there is any `blockType`. */
  hasBlocks: boolean
}

/** Labels by the object that contains them; undefined if there are none, as for images by data URL. */
function* labelsByParent(scan: ScanResult): Generator<undefined, LabelsByParent | undefined> {
  let found: LabelsByParent | undefined
  for (const [index, finding] of scan.findings.entries()) {
    if (index % findingsPerStep === findingsPerStep - 1) yield undefined
    const { name } = finding
    if (name !== 'mediaType' && name !== 'sourceType' && name !== 'blockType') continue
    const text = stringOf(finding)
    if (text === undefined) continue
    found ??= { byParent: new Map(), hasBlocks: false }
    if (name === 'blockType') found.hasBlocks = true
    const parent = parentOf(finding.path)
    const labels = found.byParent.get(parent)
    if (labels === undefined) found.byParent.set(parent, { [name]: text })
    else labels[name] = text
  }
  return found
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('.')))
}

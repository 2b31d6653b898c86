import type { Base64Facts, Finding, ScanResult } from '../http/json-scan.ts'
import { mediaPartFromBase64 } from '../http/media-part.ts'
import type { MediaPart } from '../http/media-part.ts'
import { stringOf } from '../http/json-read.ts'
import { objectNamed } from './named-objects.ts'

/**
 * Names under which an interest reports media. The first four say what they are; what `media` and
 * `mediaUri` (an address that is kept) are is told by the members around them: `mediaType` beside the
 * data, and a `blockType` beside it or one level up. A `sourceType` of `text` is no media at all.
 */
const kinds: ReadonlyMap<string, MediaPart['kind']> = new Map([
  ['image', 'image'],
  ['audio', 'audio'],
  ['video', 'video'],
  ['document', 'document'],
])

/** What there is to measure of a place that the provider fetches itself. */
const address: Base64Facts = { bytes: 0, head: Buffer.alloc(0), isValid: true, isUrl: true }

/** The media parts of a JSON body, in the order in which they stand in it. */
export function readMedia(scan: ScanResult): readonly MediaPart[] {
  const found = scan.findings.filter(isMedia)
  if (found.length === 0) return []
  const types = textsByParent(scan, 'mediaType')
  const sources = textsByParent(scan, 'sourceType')
  const blocks = textsByParent(scan, 'blockType')
  const media: MediaPart[] = []
  for (const finding of found) {
    if (isFileId(finding)) {
      const block = blocks.get(parentOf(finding.path)) ?? blocks.get(parentOf(parentOf(finding.path)))
      const part = uploadedPart(finding, kinds.get(block ?? ''))
      if (part !== undefined && block !== 'container_upload') media.push(part)
      continue
    }
    const kind = kinds.get(finding.name)
    if (kind !== undefined) {
      media.push(mediaPartFromBase64(finding, undefined, kind))
      continue
    }
    const parent = parentOf(finding.path)
    if (sources.get(parent) === 'text') continue
    const measured = finding.name === 'mediaUri' ? { ...finding, base64: address } : finding
    const block = blocks.get(parent) ?? blocks.get(parentOf(parent))
    // What has its type beside it is named as a whole.
    media.push({
      ...mediaPartFromBase64(measured, types.get(parent), kinds.get(block ?? '')),
      path: parent,
      ...objectOf(finding),
    })
  }
  return media
}

function isMedia(finding: Finding): boolean {
  const isName = finding.name === 'mediaUri' || isFileId(finding)
  return finding.base64 !== undefined || (isName && finding.type === 'string')
}

/** An uploaded file that a message shows the model; tools name theirs in lists. */
function isFileId({ name, path }: Finding): boolean {
  return name === 'names:file' && path.endsWith('.file_id')
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

/** The strings of one name, by the object they stand in. */
function textsByParent(scan: ScanResult, name: string): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  for (const finding of scan.findings) {
    const text = finding.name === name ? stringOf(finding) : undefined
    if (text !== undefined) texts.set(parentOf(finding.path), text)
  }
  return texts
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('.')))
}

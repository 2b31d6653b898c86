import type { ScanResult } from '../http/json-scan.ts'
import { anyOf, list, object, value } from './interest.ts'

/** The names under which it is found. */
export const askedMedia = { frames: 'framesPerSecond', modality: 'modality' } as const

/** What a request asks its model to answer in: a list, or the only one without brackets. */
export const modalities = anyOf(value(askedMedia.modality), list(value(askedMedia.modality)))

/** https://ai.google.dev/api/caching#VideoMetadata */
const framesMax = 24
/** How many frames of a video Google looks at. */
export const videoMembers = { videometadata: object({ fps: value(askedMedia.frames) }) }

/** The most frames a second that are looked at; undefined where it is one. */
export function framesIn({ findings }: ScanResult): number | undefined {
  let frames = 1
  for (const { name, type, raw } of findings) {
    if (name !== askedMedia.frames || type === 'null' || raw === undefined) continue
    // Google's servers take a number in a string, too.
    const said = Number(JSON.parse(String(raw)))
    frames = Math.max(frames, Number.isFinite(said) ? said : framesMax)
  }
  return frames > 1 ? frames : undefined
}

/** Modalities by their names, or by their numbers in Google's enumeration. */
const isUndrawn = /^(?:"(?:text|audio|modality_unspecified)"|null|0|1|3)$/i

/** What is no other modality may be an image, however it is written. */
export function writesImages({ findings }: ScanResult): true | undefined {
  const asked = findings.filter(({ name, type }) => name === askedMedia.modality && type !== 'array')
  return asked.some(({ raw }) => !isUndrawn.test(String(raw))) || undefined
}

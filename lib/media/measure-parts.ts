import type { MediaPart } from '../http/media-part.ts'
import { mediaKind } from '../http/media-sniff.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { ObjectFacts } from '../money/usage.ts'
import { Base64Source } from './base64-source.ts'
import { measureMedia } from './measure-media.ts'
import { MediaBudget } from './media-reader.ts'
import { spanSource, type BodyReader, type MediaSource } from './media-source.ts'

/** A part of a request with what its content says. */
export interface MeasuredPart extends MediaPart {
  readonly brokenBecause?: string
  readonly unmeasuredBecause?: string
}

/** What was measured when the files that the parts name were uploaded, put beside them. */
export async function withUploaded(
  parts: readonly MediaPart[],
  ledger: Pick<Ledger, 'findObject'>,
  providerName: string,
): Promise<readonly MediaPart[]> {
  return Promise.all(
    parts.map(async part => {
      if (part.object === undefined) return part
      const { kind, id } = part.object
      const facts = (await ledger.findObject(providerName, kind, id))?.facts
      return facts === undefined ? part : withFacts(part, facts)
    }),
  )
}

/**
 * Measures what stands in the body itself. What is given by address is the provider's to fetch, and never
 * fetched here.
 */
export async function measureParts(
  parts: readonly MediaPart[],
  body: BodyReader,
): Promise<readonly MeasuredPart[]> {
  const budget = new MediaBudget()
  const measured: MeasuredPart[] = []
  for (const part of parts) {
    const source = sourceOf(part, body, budget)
    if (source === undefined) {
      measured.push(part)
      continue
    }
    const { facts, ...problems } = await measureMedia(source, budget)
    measured.push({ ...withFacts(part, facts), ...problems })
  }
  return measured
}

function sourceOf(part: MediaPart, body: BodyReader, budget: MediaBudget): MediaSource | undefined {
  const { bytes, encoding, bodyStart, bodyBytes } = part
  if (bytes === undefined || bytes === 0 || part.object !== undefined) return undefined
  if (encoding === undefined) return spanSource(body, bodyStart, bodyBytes)
  const isDataUrl = encoding === 'dataUrl'
  return new Base64Source(body, { start: bodyStart, end: bodyStart + bodyBytes, bytes, isDataUrl }, budget)
}

/** Only the content itself knows whether a container holds film or sound alone. */
function withFacts(part: MediaPart, facts: ObjectFacts): MediaPart {
  const { bytes, mediaType, seconds, pages, width, height } = facts
  return {
    ...part,
    ...(bytes !== undefined && { bytes }),
    ...(mediaType !== undefined && { detectedType: mediaType, kind: mediaKind(mediaType) }),
    ...(seconds !== undefined && { seconds }),
    ...(pages !== undefined && { pages }),
    ...(width !== undefined && { width }),
    ...(height !== undefined && { height }),
  }
}

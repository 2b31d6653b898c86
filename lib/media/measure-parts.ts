import { type MediaPart, mediaKind } from '../http/media-part.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { ObjectFacts } from '../money/usage.ts'
import { Base64Source } from './base64-source.ts'
import { measureMedia } from './measure-media.ts'
import { MediaBudget, spanSource, type BodyReader, type MediaSource } from './media-reader.ts'
import { requireReportedLength } from '../models/require-priced.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { Stage } from '../pipeline/plugin.ts'

declare module '../pipeline/exchange.ts' {
  interface Facts {
    /** Media whose length or size the gateway could not determine. */
    unmeasured: readonly MeasuredPart[]
    /** The request's media have their measured facts. */
    areMediaMeasured: true
  }
}

/** The bytes that show a type. */
const typeBytes = 4096

/** A part of a request with the facts of its content. */
export interface MeasuredPart extends MediaPart {
  readonly brokenBecause?: string
  readonly unmeasuredBecause?: string
}

/** Adds the facts that were measured when the files that the parts name were uploaded. */
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

/** Adds the type's name, if any, to the first image of a type that the scan did not know: for its refusal. */
async function withTypeName(parts: readonly MediaPart[], body: BodyReader): Promise<readonly MediaPart[]> {
  const index = parts.findIndex(
    ({ kind, bytes, detectedType }) => kind === 'image' && bytes !== undefined && detectedType === undefined,
  )
  const part = parts[index]
  const source = part === undefined ? undefined : sourceOf(part, body, new MediaBudget())
  const type = source === undefined ? undefined : await knownType(await source.read(0, typeBytes))
  return part === undefined || type === undefined ? parts : parts.with(index, { ...part, detectedType: type })
}

/** Measures the media in the body itself. The provider fetches media given by address; the gateway never does. */
export async function measureParts(
  parts: readonly MediaPart[],
  body: BodyReader,
): Promise<readonly MeasuredPart[]> {
  const budget = new MediaBudget()
  const measured: MeasuredPart[] = []
  for (const part of parts) {
    const source = sourceOf(part, body, budget)
    if (part.isInvalid === true || part.isPrefixed === true) {
      measured.push({ ...part, unmeasuredBecause: 'It is not base64.' })
      continue
    }
    // Audio without a header and texts begin with any bytes: a type that the scan did not see is chance.
    if (source === undefined || part.detectedType === undefined) {
      const isUnknown = source !== undefined && (part.kind === 'audio' || part.kind === 'video')
      measured.push(isUnknown ? { ...part, unmeasuredBecause: 'Its type is not known.' } : part)
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

/** Only the content shows whether a container has video or audio alone. */
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

/** The name of a type without a signature here, such as an archive's; undefined if it is unknown. */
async function knownType(head: Buffer): Promise<string | undefined> {
  // Loaded with the first file of a type without a signature here, since most requests have none.
  const { fileTypeFromBuffer } = await import('file-type')
  try {
    return (await fileTypeFromBuffer(head))?.mime
  } catch {
    // It reads beyond the available bytes: the type is unknown.
    return undefined
  }
}

/** The media of a request as measured, by their content and by earlier uploads. */
export async function measureRequest(
  exchange: Exchange,
  ledger: Pick<Ledger, 'findObject'>,
  checkAtSight: (parts: readonly MediaPart[]) => void = () => undefined,
): Promise<readonly MeasuredPart[]> {
  const { provider } = exchange.get('target')
  const content = exchange.get('content')
  const uploaded = await withUploaded(exchange.get('request').media, ledger, provider.name)
  const parts = await withTypeName(uploaded, content)
  // Problems that show without reading the body again are refused first.
  checkAtSight(parts)
  return measureParts(parts, content)
}

/**
 * Makes holds and estimates use the measured media.
 * @throws GatewayError not_supported if nothing determines the request's cost
 */
export function useMeasured(exchange: Exchange, media: readonly MeasuredPart[]): void {
  exchange.set('request', { ...exchange.get('request'), media })
  exchange.set('areMediaMeasured', true)
  const unmeasured = media.filter(part => part.unmeasuredBecause !== undefined)
  if (unmeasured.length === 0) return
  exchange.set('unmeasured', unmeasured)
  const { provider, otherKinds = [] } = exchange.get('target')
  requireReportedLength(exchange.get('request'), [provider.kind, ...otherKinds], unmeasured)
}

/** Adds measured media to an exchange that is charged by them, if no plugin has measured them yet. */
export function measuredMedia(ledger: Pick<Ledger, 'findObject'>): Stage {
  return {
    needs: ['request', 'target'],
    onRequest(exchange) {
      if (exchange.get('request').media.length === 0 || exchange.find('areMediaMeasured') === true)
        return undefined
      if (exchange.get('target').price === undefined || exchange.find('client') !== undefined)
        return undefined
      return measureRequest(exchange, ledger).then(media => useMeasured(exchange, media))
    },
  }
}

import { limitsFor, sizeLimitOptions, type MediaLimits } from '../lib/config/plugin-options.ts'
import { GatewayError } from '../lib/pipeline/errors.ts'
import type { MediaPart } from '../lib/http/media-part.ts'
import {
  checkImages,
  checkPixels,
  checkDocuments,
  checkPlaytime,
  checkLabel,
} from '../lib/media/check-media.ts'
import { type MeasuredPart, measureRequest, useMeasured } from '../lib/media/measure-parts.ts'
import type { Exchange } from '../lib/pipeline/exchange.ts'
import type { Stage } from '../lib/pipeline/plugin.ts'
import type { PluginContext } from '../lib/front/plugin-context.ts'

/**
 * Refuses what a provider would refuse or should not receive: images, audio, videos and documents, by their content and
 * not by their declared type. Holds and estimates use what it measures.
 */
export function sizeLimit({ ledger }: PluginContext, options: Readonly<Record<string, unknown>>): Stage {
  const limitsByDialect = sizeLimitOptions.parse(options)

  async function limitMedia(exchange: Exchange, limits: MediaLimits): Promise<void> {
    const media = await measureRequest(exchange, ledger, parts => {
      for (const request of byRequest(parts)) checkAtSight(request, limits)
    })
    const warnings = [...byRequest(media)].map(request => checkMeasured(request, limits))
    // One warning is enough, also for a batch.
    const warning = warnings.find(text => text !== undefined)
    if (warning !== undefined) exchange.extraHeaders.push('x-gateway-warning', warning)
    useMeasured(exchange, media)
  }

  return {
    needs: ['route', 'request', 'target'],
    provides: ['areMediaMeasured', 'unmeasured'],

    onRequest(exchange) {
      const { modelName, upstreamModelName } = exchange.get('target')
      const ofDialect = limitsByDialect[exchange.get('route').dialect.name]
      const limits =
        ofDialect.models === undefined ? ofDialect : limitsFor(ofDialect, [modelName, upstreamModelName])
      checkRequestBytes(exchange, limits)
      // Most requests have only text, and need no wait.
      return exchange.get('request').media.length === 0 ? undefined : limitMedia(exchange, limits)
    },
  }
}

function checkRequestBytes(exchange: Exchange, limits: MediaLimits): void {
  const { operation } = exchange.get('route').match
  if (operation.body === 'streamed') return
  const bytesMax = operation.isBatch === true ? limits.batchBytesMax : limits.requestBytesMax
  const bytes = exchange.get('target').body?.length ?? 0
  if (bytesMax === undefined || bytes <= bytesMax) return
  throw new GatewayError(
    'body_too_large',
    `The request body is ${bytes} bytes, and at most ${bytesMax} are accepted in this format.`,
  )
}

/** The parts of each request: a batch holds many, `requests[7]`, and the limits are per request. */
function byRequest<P extends MediaPart>(media: readonly P[]): Iterable<readonly P[]> {
  return Map.groupBy(media, part => /(?:^|\.)requests\[\d+\]/.exec(part.path)?.[0] ?? '').values()
}

function checkAtSight(parts: readonly MediaPart[], limits: MediaLimits): void {
  for (const part of parts) {
    if (part.isInvalid === true)
      throw new GatewayError('media_invalid', `${part.path} is not valid base64.`, { param: part.path })
    if (part.isPrefixed === true) {
      throw new GatewayError(
        'media_invalid',
        `${part.path} is a data URL, and base64 alone belongs there: leave "data:" and all up to the comma away.`,
        { param: part.path },
      )
    }
  }
  checkImages(parts, limits)
}

/** Returns a warning for the client, if there is one. */
function checkMeasured(parts: readonly MeasuredPart[], limits: MediaLimits): string | undefined {
  let warning: string | undefined
  for (const part of parts) {
    const labelWarning = checkLabel(part, limits.imageLabels === 'refuse')
    warning ??= labelWarning
    if (part.brokenBecause === undefined) continue
    throw new GatewayError(
      'media_invalid',
      `The ${part.detectedType ?? part.kind} at ${part.path} cannot be read: ${part.brokenBecause} (${part.bytes ?? 0} bytes).`,
      { param: part.path },
    )
  }
  checkImages(parts, limits)
  checkPixels(parts, limits)
  checkDocuments(parts, limits)
  return checkPlaytime(parts, limits) ?? warning
}

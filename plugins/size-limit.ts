import { sizeLimitOptions, type DialectLimits } from '../lib/config/size-limit-options.ts'
import { GatewayError } from '../lib/errors.ts'
import type { MediaPart } from '../lib/http/media-part.ts'
import type { Plugin } from '../lib/pipeline/plugin.ts'
import type { PluginContext } from '../lib/plugin-context.ts'

/** Refuses what a provider would refuse or should not be sent: pictures by their content, bytes and number. */
export function sizeLimit(_context: PluginContext, options: Readonly<Record<string, unknown>>): Plugin {
  const limitsByDialect = sizeLimitOptions.parse(options)

  return {
    name: 'size-limit',
    needs: ['route', 'request', 'target'],

    onRequest(exchange) {
      const limits = limitsByDialect[exchange.get('route').dialect.name]
      const bodyBytes = exchange.get('target').body?.length ?? 0
      if (limits.requestBytesMax !== undefined && bodyBytes > limits.requestBytesMax) {
        throw new GatewayError(
          'body_too_large',
          `The request body is ${bodyBytes} bytes, and at most ${limits.requestBytesMax} are accepted in this format.`,
        )
      }
      const { media } = exchange.get('request')
      if (media.length > 0) checkMedia(media, limits)
    },
  }
}

function checkMedia(media: readonly MediaPart[], limits: DialectLimits): void {
  let images = 0
  for (const part of media) {
    if (part.isInvalid === true) {
      throw new GatewayError('media_invalid', `${part.path} is not valid base64.`, { param: part.path })
    }
    if (part.kind !== 'image') continue
    images += 1
    if (limits.imagesMax !== undefined && images > limits.imagesMax) {
      throw new GatewayError(
        'media_too_many',
        `The request has ${media.filter(other => other.kind === 'image').length} images, and at most ${limits.imagesMax} are accepted; the first too many is ${part.path}.`,
        { param: part.path },
      )
    }
    checkImage(part, limits)
  }
}

/** A picture given by URL has no bytes here: the provider fetches it, and the gateway never does. */
function checkImage(part: MediaPart, limits: DialectLimits): void {
  if (part.bytes === undefined) return
  if (limits.imageBytesMax !== undefined && part.bytes > limits.imageBytesMax) {
    throw new GatewayError(
      'media_too_large',
      `The image at ${part.path} is ${part.bytes} bytes, and at most ${limits.imageBytesMax} are accepted.`,
      { param: part.path },
    )
  }
  if (limits.imageTypes === undefined) return
  const found = part.detectedType
  if (found === undefined || !(limits.imageTypes as readonly string[]).includes(found)) {
    throw new GatewayError(
      'media_type',
      `The image at ${part.path} is ${found ?? 'of no known type'} by its content; accepted are ${limits.imageTypes.join(', ')}.`,
      { param: part.path },
    )
  }
}

import type { MediaLimits } from '../config/size-limit-options.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { MediaPart } from '../http/media-part.ts'

/**
 * The images of one request: how many, how large, of which types.
 * @throws GatewayError media_too_many, media_too_large, media_type
 */
export function checkImages(parts: readonly MediaPart[], limits: MediaLimits): void {
  const images = parts.filter(part => part.kind === 'image')
  const { imagesMax } = limits
  const firstTooMany = imagesMax === undefined ? undefined : images[imagesMax]
  if (firstTooMany !== undefined) {
    throw new GatewayError(
      'media_too_many',
      `The request has ${images.length} images, and at most ${imagesMax} are accepted; the first too many is ${firstTooMany.path}.`,
      { param: firstTooMany.path },
    )
  }
  for (const image of images) checkImage(image, limits)
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
 * The sides of the images of one request, which were measured.
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

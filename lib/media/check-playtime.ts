import type { MediaLimits } from '../config/size-limit-options.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { MediaPart } from '../http/media-part.ts'

/**
 * The videos and sounds of one request: how many and how long together.
 * @returns a warning for the answer, where there is more sound than is heard without loss
 * @throws GatewayError media_too_many, media_too_long
 */
export function checkPlaytime(parts: readonly MediaPart[], limits: MediaLimits): string | undefined {
  const videos = parts.filter(part => part.kind === 'video')
  const firstTooMany = limits.videosMax === undefined ? undefined : videos[limits.videosMax]
  if (firstTooMany !== undefined) {
    throw new GatewayError(
      'media_too_many',
      `The request has ${videos.length} videos, and at most ${limits.videosMax} are accepted; the first too many is ${firstTooMany.path}.`,
      { param: firstTooMany.path },
    )
  }
  checkSeconds('video', videos, limits.videoSecondsMax)
  const sounds = parts.filter(part => part.kind === 'audio')
  const soundSeconds = checkSeconds('audio', sounds, limits.audioSecondsMax)
  const { audioSecondsWarn } = limits
  if (audioSecondsWarn === undefined || soundSeconds <= audioSecondsWarn) return undefined
  return `audio_long; seconds=${shortNumber(soundSeconds)}; limit=${audioSecondsWarn}; accuracy suffers beyond it`
}

/** How long they are together; those of unknown length count nothing. */
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

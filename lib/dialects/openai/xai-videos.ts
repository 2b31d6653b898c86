import type { ScanResult } from '../../http/json-scan.ts'
import type { BodyLength, Operation, RequestFacts } from '../dialect.ts'
import { anyOf, base64, list, value } from '../interest.ts'
import { names } from '../named-objects.ts'
import { searched } from '../naming-members.ts'
import { readMedia } from '../read-media.ts'
import { readString } from '../read-field.ts'
import { factsFrom, modelMembers } from '../request-facts.ts'
import { route, type RouteRow } from '../route-table.ts'
import { jsonSeconds, videoSubmission } from './videos.ts'

/** https://docs.x.ai/developers/model-capabilities/video/generation: what it is unless the request says. */
const resolutionUnlessSaid = '480p'
const secondsUnlessSaid = 8
const extensionUnlessSaid = 6
/** The longest video that is edited, and the longest that another is put behind. */
const editedSecondsMax = 9
const extendedSecondsMax = 15

/**
 * An image that a video begins from costs a cent at most, and so does a second of such a video: that much is held. What
 * they have cost is in what the answer states: https://docs.x.ai/developers/models/grok-imagine-video.
 */
const givenPerUsd = 100

const image = anyOf(base64('image'), searched({ url: base64('image'), image_url: base64('image') }))

const request = searched({
  ...modelMembers,
  duration: value('seconds'),
  resolution: value('size'),
  image,
  reference_images: list(image),
  video: anyOf(base64('video'), searched({ url: base64('video'), id: names('video') })),
})

/**
 * Begins a video. It is asked after at `GET /videos/{id}`, as OpenAI's are, and charged by the length that it is told to
 * have there.
 * @param secondsFor the most that it can have, by the length that is asked for
 * @param givenSeconds the most that a video can have that is begun from
 */
function submission(
  name: string,
  secondsFor: (asked: number | undefined) => number,
  givenSeconds = 0,
): Operation {
  return {
    ...videoSubmission,
    name,
    body: 'json',
    defaultModel: 'grok-imagine-video',
    interest: request,
    factsFromJson(scan: ScanResult, body: BodyLength): RequestFacts {
      const seconds = jsonSeconds(scan)
      const facts = factsFrom(scan, body, {
        units: {
          videoSeconds: secondsFor(seconds),
          statedUsd: (imagesIn(scan) + givenSeconds) / givenPerUsd,
        },
        unitsVariant: readString(scan, 'size') ?? resolutionUnlessSaid,
      })
      return { ...facts, ...(seconds === undefined && { isLengthUnsaid: true as const }), startsJob: true }
    },
  }
}

function imagesIn(scan: ScanResult): number {
  return readMedia(scan).filter(({ kind }) => kind === 'image').length
}

/** Elsewhere the model, which may cost more than the one that is named, is that of the video that is gone on from. */
const atXai: ReadonlySet<string> = new Set(['xai'])

/** `POST /videos/generations` */
export const xaiVideoGenerations = submission('video-generations', asked => asked ?? secondsUnlessSaid)

/** Where xAI's videos are begun, below `/v1`. */
export const xaiVideoRows: readonly RouteRow[] = [
  route('POST', '/videos/generations', xaiVideoGenerations),
  route('POST', '/videos/edits', {
    ...submission('video-edits', () => editedSecondsMax, editedSecondsMax),
    pricedAt: atXai,
  }),
  route('POST', '/videos/extensions', {
    ...submission(
      'video-extensions',
      asked => extendedSecondsMax + (asked ?? extensionUnlessSaid),
      extendedSecondsMax,
    ),
    pricedAt: atXai,
  }),
]

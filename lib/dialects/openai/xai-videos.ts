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

/** https://docs.x.ai/developers/model-capabilities/video/generation: the defaults of a request. */
const resolutionUnlessSaid = '480p'
const secondsUnlessSaid = 8
const extensionUnlessSaid = 6
/** The longest video that can be edited, and the longest that can be extended. */
const editedSecondsMax = 9
const extendedSecondsMax = 15

/**
 * An input image costs at most a cent, and so does a second of input video: the hold covers that much. The response
 * states their actual cost: https://docs.x.ai/developers/models/grok-imagine-video.
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
 * Starts a video. Clients poll it at `GET /videos/{id}`, like OpenAI's videos, and it is charged by the length reported
 * there.
 * @param secondsFor the maximum length of the new video, by the requested length
 * @param givenSeconds the maximum length of the input video
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

/** At other providers the model is that of the input video, which may cost more than the model in the request. */
const atXai: ReadonlySet<string> = new Set(['xai'])

/** `POST /videos/generations` */
export const xaiVideoGenerations = submission('video-generations', asked => asked ?? secondsUnlessSaid)

/** The paths that start xAI's videos, below `/v1`. */
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

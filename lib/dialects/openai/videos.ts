import type { ScanResult } from '../../http/json-scan.ts'
import type { Meters, UsageReading } from '../../money/usage.ts'
import { ResponseReader } from '../response-reader.ts'
import type { HeadFacts, Operation, RequestFacts, UsageReader, UsageReaderContext } from '../dialect.ts'
import { type JobKind, jobOperations, freeOperation } from '../operation-kinds.ts'
import { factsFromForm, readFormField } from '../form-facts.ts'
import { anyOf, base64, list, object, value } from '../interest.ts'
import { responseOf, lineOf, nothingRead, type ResponseMeasure } from '../measure.ts'
import { names } from '../named-objects.ts'
import { searched } from '../naming-members.ts'
import { readCount, readString, textOf, wrongType } from '../read-field.ts'
import { factsFrom, modelMembers } from '../request-facts.ts'
import { route, type RouteRow } from '../route-table.ts'
import { openaiList } from '../object-list.ts'
import { ticksPerUsd } from './openai-reader.ts'
import { knownProvider } from '../../providers/known-providers.ts'

/** https://platform.openai.com/docs/api-reference/videos/create: the defaults of a request. */
const secondsUnlessSaid = 4
const sizeUnlessSaid = '720x1280'

/** OpenRouter and Google's endpoint have other names for the length and the size, and other default lengths. */
const measures = {
  seconds: value('seconds'),
  duration: value('seconds'),
  duration_seconds: value('seconds'),
  size: value('size'),
  resolution: value('resolution'),
}
const googleOptions = searched(measures)

const request = searched({
  ...modelMembers,
  ...measures,
  google: googleOptions,
  extra_body: searched({ ...measures, google: googleOptions }),
  characters: anyOf(names('video'), list(anyOf(names('video'), searched({ id: names('video') })))),
  video: searched({ id: names('video') }),
  input_reference: anyOf(
    base64('image'),
    searched({ image_url: base64('image'), file_id: names('file'), url: base64('image') }),
  ),
})

const response = object({
  id: value('id'),
  object: value('object'),
  model: value('model'),
  status: value('status'),
  seconds: value('seconds'),
  size: value('size'),
  error: value('error'),
  // xAI's names.
  request_id: value('id'),
  video: object({ duration: value('seconds') }),
  usage: object({ cost_in_usd_ticks: value('costTicks'), cost: value('cost') }),
})

/** The statuses of OpenAI, xAI and OpenRouter. */
const doneStatuses: ReadonlySet<string> = new Set(['completed', 'done'])
export const failedStatuses: ReadonlySet<string> = new Set(['failed', 'expired', 'cancelled'])

/** Reads a video job. It is charged by the length and size that the job itself reports. */
class VideoReader extends ResponseReader {
  #status = ''
  #seconds: number | undefined
  #size: string | undefined
  #costUsd: number | undefined

  /** @param id the id of the requested video, which xAI's responses do not contain */
  constructor(head: HeadFacts, context: UsageReaderContext, id = '') {
    super(head, context, response, 'video')
    this.objectId = id
  }

  protected override onValue(name: string, value: unknown): void {
    if (name === 'status' && typeof value === 'string') this.#status = value
    if (name === 'seconds') this.#seconds = secondsOf(value)
    if (name === 'size' && typeof value === 'string') this.#size = value
    if (name === 'cost' && typeof value === 'number') this.#costUsd = value
    if (name === 'costTicks' && typeof value === 'number') this.#costUsd = value / ticksPerUsd
  }

  protected override measure(): ResponseMeasure {
    if (!doneStatuses.has(this.#status)) return { lines: [], details: {} }
    const { units, unitsVariant } = this.context.facts
    const videoSeconds = this.#seconds ?? units?.videoSeconds
    const meters: Meters = videoSeconds === undefined ? {} : { videoSeconds }
    const details = this.#costUsd === undefined ? {} : { costUsd: this.#costUsd }
    return responseOf({ meters, details, variant: this.#size ?? unitsVariant })
  }

  protected override jobState(): ReturnType<ResponseReader['jobState']> {
    if (doneStatuses.has(this.#status)) return { state: 'done' }
    return { state: failedStatuses.has(this.#status) ? 'failed' : 'running' }
  }
}

/** A client that downloads a video has a finished one, of the requested length and size. */
class VideoContentReader implements UsageReader {
  readonly isTerminal = false
  readonly #context: UsageReaderContext

  constructor(context: UsageReaderContext) {
    this.#context = context
  }

  push(): void {}

  takeObjects(): readonly [] {
    return []
  }

  end(): UsageReading {
    const { facts, object, providerKind } = this.#context
    const video = knownProvider(providerKind).statesVideoCost === true ? undefined : object
    const told: UsageReading = { ...nothingRead, hasOutput: true }
    if (video === undefined) return told
    const lines = [lineOf(facts.units ?? {}, { variant: facts.unitsVariant })]
    return { ...told, lines, job: { kind: 'video', id: video.id, state: 'done' } }
  }
}

const readUsage: NonNullable<Operation['readUsage']> = (head, context) => new VideoReader(head, context)

/** The common part of all requests for a new video. */
export const videoSubmission = {
  modelIn: 'body',
  isFree: false,
  mainMeter: 'videoSeconds',
  readUsage,
  namesObjects: true,
} as const

/** `POST /videos`, as JSON or as a form with an image to start from. */
const createVideo: Operation = {
  ...videoSubmission,
  name: 'videos',
  body: 'multipart',
  // https://platform.openai.com/docs/api-reference/videos/create
  defaultModel: 'sora-2',
  interest: request,
  factsFromJson: (scan, body) =>
    videoFacts(
      factsFrom(scan, body),
      jsonSeconds(scan),
      readString(scan, 'size') ?? readString(scan, 'resolution')?.toLowerCase(),
    ),
  factsFromMultipart: (form, body) =>
    videoFacts(
      factsFromForm(form, body, 'image'),
      longestOf(lengthFields.map(name => secondsOf(readFormField(form, name)))),
      readFormField(form, 'size') ?? readFormField(form, 'resolution')?.toLowerCase(),
    ),
}

/** `POST /videos/{id}/remix`: the model, length and size are those of the source video. */
const remixVideo: Operation = {
  ...videoSubmission,
  name: 'video-remix',
  body: 'json',
  modelIn: 'job',
  interest: searched({}),
  factsFromJson: (scan, body) => ({ ...factsFrom(scan, body), startsJob: true }),
}

const videos = jobOperations('video', (head, context) => new VideoReader(head, context, context.object?.id))

/** `GET /videos/{id}/content` */
const videoContent: Operation = {
  ...freeOperation('video-content'),
  readUsage: (_head, context) => new VideoContentReader(context),
  job: 'reads',
}

const pathOf = (id: string): string => `/videos/${encodeURIComponent(id)}`

const videoList = openaiList('video-list', {
  kind: 'video',
  retrieval: videos.stored,
  path: pathOf,
  limit: { usual: 20, max: 100 },
})

/** Videos, below `/v1`. */
export const openaiVideoRows: readonly RouteRow[] = [
  route('POST', '/videos', createVideo),
  route('GET', '/videos', videoList),
  route('GET', '/videos/{id}', videos.stored, { object: 'video' }),
  route('DELETE', '/videos/{id}', videos.deleted, { object: 'video' }),
  route('GET', '/videos/{id}/content', videoContent, { object: 'video' }),
  route('POST', '/videos/{id}/remix', remixVideo, { object: 'video' }),
]

/** Videos are ready within minutes. */
export const videoJobs: JobKind = {
  kind: 'video',
  retrieval: videos.stored,
  path: pathOf,
  durationMsMax: 86_400_000,
}

function videoFacts(
  facts: RequestFacts,
  seconds: number | undefined,
  size: string | undefined,
): RequestFacts {
  return {
    ...facts,
    ...(seconds === undefined && { isLengthUnsaid: true as const }),
    units: { videoSeconds: seconds ?? secondsUnlessSaid },
    unitsVariant: size === undefined || size === '' ? sizeUnlessSaid : size,
    startsJob: true,
  }
}

/** The SDKs send a string of digits; a number means the same. */
export function secondsOf(given: unknown): number | undefined {
  const seconds = typeof given === 'string' && given.trim() !== '' ? Number(given) : given
  return typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0 ? seconds : undefined
}

const lengthFields = ['seconds', 'duration', 'duration_seconds']

function longestOf(lengths: readonly (number | undefined)[]): number | undefined {
  const said = lengths.filter(length => length !== undefined)
  return said.length === 0 ? undefined : Math.max(...said)
}

/**
 * The length that a request asks for, under the name `seconds`: the longest if it names several.
 * @throws GatewayError body_invalid
 */
export function jsonSeconds({ findings }: ScanResult): number | undefined {
  const said = findings.filter(({ name, type }) => name === 'seconds' && type !== 'null')
  return longestOf(
    said.map(finding => {
      const seconds = secondsOf(
        finding.type === 'string' ? textOf(finding) : readCount({ findings: [finding] }, 'seconds'),
      )
      if (seconds === undefined) throw wrongType(finding, 'a number of seconds')
      return seconds
    }),
  )
}

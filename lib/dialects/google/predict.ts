import type { Interest, ScanResult } from '../../http/json-scan.ts'
import { ResponseReader } from '../response-reader.ts'
import { paidOperation, type JobKind, jobOperations } from '../operation-kinds.ts'
import { anyOf, base64, list, object, span, value } from '../interest.ts'
import { responseOf, type ResponseMeasure } from '../measure.ts'
import { searched } from '../naming-members.ts'
import { readCount, readString, findField, textOf, wrongType } from '../read-field.ts'
import { factsFrom, sameModel } from '../request-facts.ts'
import type { BodyLength, Operation, RequestFacts } from '../dialect.ts'
import { fileAt, namesFile } from '../named-objects.ts'
import { route, type RouteRow } from '../route-table.ts'

/** Imagen makes four images by default. */
const imagesUnlessSaid = 4

const instanceName = 'instance'

/** A request has instances, each of which gets images or videos of its own. */
function requestOf(
  instance: Readonly<Record<string, Interest>>,
  parameters: Readonly<Record<string, Interest>>,
): Interest {
  const one = searched(instance, span(instanceName))
  return searched({ ...sameModel, instances: anyOf(list(one), one), parameters: searched(parameters) })
}

const imageRequest = requestOf(
  { image: searched({ bytesbase64encoded: base64('image'), mimetype: value('mediaType') }) },
  { samplecount: value('images'), sampleimagesize: value('size') },
)

const imageResponse = object({
  error: value('error'),
  predictions: list(object({ bytesbase64encoded: span('image'), gcsuri: span('image') })),
})

/** Filtered images come without bytes and are not billed. */
class PredictReader extends ResponseReader {
  #images = 0

  protected override onValue(name: string): void {
    if (name !== 'image') return
    this.#images += 1
    this.hasOutput = true
  }

  protected override measure(): ResponseMeasure {
    const images = this.#images
    const { unitsVariant: variant } = this.context.facts
    return responseOf(images === 0 ? undefined : { meters: { images }, details: {}, variant })
  }
}

/** `POST /models/{model}:predict`, Imagen's. */
export const predict = paidOperation('predict', 'images', {
  modelIn: 'path',
  interest: imageRequest,
  factsFromJson: (scan, body) =>
    factsFrom(scan, body, {
      units: { images: (readCount(scan, 'images') ?? imagesUnlessSaid) * instancesIn(scan) },
      unitsVariant: readString(scan, 'size')?.toLowerCase(),
    }),
  readUsage: (head, context) => new PredictReader(head, context, imageResponse),
})

/** The number of instances in a request; 1 if it has none. */
function instancesIn({ findings }: ScanResult): number {
  return Math.max(1, findings.filter(({ name, type }) => name === instanceName && type === 'object').length)
}

/** https://ai.google.dev/gemini-api/docs/video: the default length of a video. */
const secondsUnlessSaid = 8

const imageMember = searched({
  bytesbase64encoded: base64('image'),
  mimetype: value('mediaType'),
  inlinedata: object({ data: base64('image'), mimetype: value('mediaType') }),
})
const videoMember = searched({
  bytesbase64encoded: base64('video'),
  encodedvideo: base64('video'),
  mimetype: value('mediaType'),
  uri: namesFile,
})

const videoRequest = requestOf(
  {
    image: imageMember,
    lastframe: imageMember,
    referenceimages: list(searched({ image: imageMember })),
    video: videoMember,
  },
  {
    durationseconds: value('seconds'),
    samplecount: value('samples'),
    numberofvideos: value('samples'),
    resolution: value('resolution'),
  },
)

const sample = object({ uri: value('sample'), video: object({ uri: value('sample') }) })

const videoResponse = object({
  name: value('id'),
  done: value('done'),
  error: value('error'),
  response: object({
    generatevideoresponse: object({ generatedsamples: list(sample) }),
    generatedvideos: list(sample),
  }),
})

/**
 * Reads a long-running operation. It reports no usage: the videos in the response are counted, each with the requested
 * length. Filtered videos are not in the response and are not billed.
 */
class OperationReader extends ResponseReader {
  #isDone = false
  #samples = 0

  protected override onValue(name: string, value: unknown): void {
    if (name === 'done') this.#isDone = value === true
    if (name === 'sample') {
      if (typeof value === 'string') this.nameObject('file', fileAt(value).id)
      this.#samples += 1
      this.hasOutput = true
    }
  }

  protected override measure(): ResponseMeasure {
    const { units = {}, unitsVariant: variant, candidates } = this.context.facts
    const videoSeconds = ((units.videoSeconds ?? 0) / candidates) * this.#samples
    return responseOf(this.#samples === 0 ? undefined : { meters: { videoSeconds }, details: {}, variant })
  }

  protected override jobState(): ReturnType<ResponseReader['jobState']> {
    if (!this.#isDone) return { state: 'running' }
    return { state: this.#samples > 0 ? 'done' : 'failed' }
  }
}

const readUsage: NonNullable<Operation['readUsage']> = (head, context) =>
  new OperationReader(head, context, videoResponse, 'operation')

/** `POST /models/{model}:predictLongRunning`, Veo's. */
export const predictLongRunning = paidOperation('predict-long-running', 'videoSeconds', {
  modelIn: 'path',
  interest: videoRequest,
  factsFromJson: videoFacts,
  readUsage,
  namesObjects: true,
})

const operations = jobOperations('operation', readUsage)

/** Operations by their full name, below `/v1beta`. */
export const googleOperationRows: readonly RouteRow[] = ['/models/{model}/operations', '/operations'].flatMap(
  folder => {
    const named = { object: 'operation', idFrom: folder.split('/')[1] ?? '' } as const
    return [
      route('POST', `${folder}/{id}:cancel`, operations.cancelled, named),
      route('GET', `${folder}/{id}`, operations.stored, named),
      route('DELETE', `${folder}/{id}`, operations.deleted, named),
    ]
  },
)

/** Videos are ready within minutes, and stored for two days. */
export const operationJobs: JobKind = {
  kind: 'operation',
  retrieval: operations.stored,
  path: name => `/${name}`,
  durationMsMax: 86_400_000,
}

/** @throws GatewayError body_invalid */
function videoFacts(scan: ScanResult, body: BodyLength): RequestFacts {
  const samples = samplesIn(scan) * instancesIn(scan)
  // Prices have resolutions in lower case.
  const resolution = readString(scan, 'resolution')?.toLowerCase()
  return {
    ...factsFrom(scan, body, {
      units: { videoSeconds: (readSeconds(scan) ?? secondsUnlessSaid) * samples },
      unitsVariant: resolution,
    }),
    candidates: samples,
    startsJob: true,
  }
}

/** The number of samples has two names, and no document says which one takes precedence. */
function samplesIn({ findings }: ScanResult): number {
  const said = findings.filter(({ name }) => name === 'samples')
  return Math.max(1, ...said.map(finding => readCount({ findings: [finding] }, 'samples') ?? 1))
}

/** A number, or a number as a string. */
function readSeconds(scan: ScanResult): number | undefined {
  const finding = findField(scan, 'seconds')
  if (finding === undefined) return undefined
  const seconds = finding.type === 'string' ? Number(textOf(finding)) : readCount(scan, 'seconds')
  if (seconds === undefined || !(seconds > 0)) throw wrongType(finding, 'a number of seconds')
  return seconds
}

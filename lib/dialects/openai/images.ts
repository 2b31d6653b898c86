import { GatewayError } from '../../pipeline/errors.ts'
import type { Interest, ScanResult } from '../../http/json-scan.ts'
import type { MultipartResult } from '../../http/multipart-scan.ts'
import type { UsageLine } from '../../money/usage.ts'
import type { HeadFacts, BodyLength, Operation, RequestFacts, UsageReaderContext } from '../dialect.ts'
import { factsFromForm, readFormCount, readFormField } from '../form-facts.ts'
import { anyOf, base64, list, object, span, value } from '../interest.ts'
import { isZero, type ResponseMeasure } from '../measure.ts'
import { names } from '../named-objects.ts'
import { searched } from '../naming-members.ts'
import { findField, readBoolean, readCount, readString } from '../read-field.ts'
import { readMedia } from '../read-media.ts'
import { factsFrom, modelMembers } from '../request-facts.ts'
import { imageMeters, imageVariant } from './drawing-tool.ts'
import { OpenaiReader } from './openai-reader.ts'
import { knownProvider } from '../../providers/known-providers.ts'

/** xAI's edits send JSON that contains the image. */
const image = anyOf(
  base64('image'),
  searched({ url: base64('image'), image_url: base64('image'), file_id: names('file') }),
)

/**
 * Members that only GPT Image models accept: the provider runs a request with any of them and without a model on one of
 * those. https://platform.openai.com/docs/api-reference/images/create
 */
const laterMembers =
  'background input_fidelity moderation output_compression output_format partial_images'.split(' ')
/** The values that the default model accepts. */
const sizesUnlessSaid: ReadonlySet<string> = new Set(['', 'auto', '256x256', '512x512', '1024x1024'])
const qualitiesUnlessSaid: ReadonlySet<string> = new Set(['', 'auto', 'standard'])

const request: Interest = searched({
  ...modelMembers,
  ...Object.fromEntries(laterMembers.map(name => [name, span('later')])),
  stream: value('stream'),
  n: value('candidates'),
  size: value('size'),
  quality: value('quality'),
  // xAI's member, instead of size and quality: 1k, 2k.
  resolution: value('resolution'),
  image: anyOf(image, list(image)),
  images: list(image),
  mask: image,
})

const response = object({
  type: value('type'),
  error: value('error'),
  usage: value('usage'),
  size: value('size'),
  quality: value('quality'),
  data: list(span('image')),
  b64_json: span('output'),
})

/**
 * Tokens if the provider counts them. Otherwise the images in the response are counted, at the size and quality that
 * the response names or the request asked for.
 */
class ImagesReader extends OpenaiReader {
  #images = 0
  #size: string | undefined
  #quality: string | undefined

  protected override onValue(name: string, value: unknown): void {
    if (name === 'image') this.#images += 1
    if (name === 'size' && typeof value === 'string') this.#size = value
    if (name === 'quality' && typeof value === 'string') this.#quality = value
    if (name === 'type' && typeof value === 'string' && value.endsWith('.completed')) {
      this.#images += 1
      if (this.#images >= (this.context.facts.units?.images ?? 1)) this.markTerminal()
    }
    if (this.#images > 0) this.hasOutput = true
  }

  protected override measure(): ResponseMeasure {
    const counted = super.measure()
    const tokens = counted.lines[0]
    const isOfNothing = this.#images > 0 && isZero(counted.lines)
    if (tokens !== undefined && !isOfNothing)
      return { ...counted, lines: [{ ...tokens, meters: imageMeters(tokens.meters, this.usage()) }] }
    if (this.#images === 0) return counted
    const variant = imageVariant(this.#size, this.#quality) ?? this.context.facts.unitsVariant
    return { ...counted, lines: [this.line({ images: this.#images }, variant), ...this.#inputLines()] }
  }

  /** The input images of a request, for models that bill them. */
  #inputLines(): readonly UsageLine[] {
    const inputs =
      knownProvider(this.context.providerKind).billsInputImages === true
        ? imagesIn(this.context.facts.media)
        : 0
    return inputs === 0 ? [] : [this.line({ images: inputs }, 'input')]
  }
}

const shared = {
  modelIn: 'body',
  // https://platform.openai.com/docs/api-reference/images: the default of all three operations.
  defaultModel: 'dall-e-2',
  isFree: false,
  mainMeter: 'images',
  interest: request,
  readUsage: (head: HeadFacts, context: UsageReaderContext) => new ImagesReader(head, context, response),
} as const

/** `POST /images/generations` */
export const imageGenerations: Operation = {
  ...shared,
  name: 'image-generations',
  body: 'json',
  factsFromJson: imageFacts,
}

/** `POST /images/edits` and `/images/variations`; xAI accepts JSON where OpenAI accepts a form. */
export const imageEdits: Operation = {
  ...shared,
  name: 'image-edits',
  body: 'multipart',
  factsFromJson: imageFacts,
  factsFromMultipart: imageFormFacts,
}

/** `POST /images/variations` */
export const imageVariations: Operation = { ...imageEdits, name: 'image-variations' }

/** The number of input images of a request; every file counts as one. */
export function imagesIn(media: RequestFacts['media']): number {
  return media.filter(({ kind, object: file }) => kind === 'image' || file !== undefined).length
}

/** Images in JSON, which xAI bills one by one, are held for as if the request made them. */
function imageFacts(scan: ScanResult, body: BodyLength): ReturnType<typeof factsFrom> {
  const resolution = readString(scan, 'resolution')?.toLowerCase()
  const isLater = readBoolean(scan, 'stream') === true || findField(scan, 'later') !== undefined
  const facts = factsFrom(scan, body, {
    units: { images: (readCount(scan, 'candidates') ?? 1) + imagesIn(readMedia(scan)) },
    unitsVariant: imageVariant(readString(scan, 'size'), readString(scan, 'quality')) ?? resolution,
  })
  requireModel(facts, isLater, readString(scan, 'size'), readString(scan, 'quality'))
  return facts
}

/**
 * Without a model the provider chooses one by the other members, possibly at another price than the one charged.
 * @throws GatewayError body_invalid
 */
function requireModel({ model }: RequestFacts, isLater: boolean, size = '', quality = ''): void {
  if (model !== undefined && model !== '') return
  if (!isLater && sizesUnlessSaid.has(size) && qualitiesUnlessSaid.has(quality)) return
  throw new GatewayError(
    'body_invalid',
    'The request names no model, and asks for options that only some models have. Send "model".',
    { param: 'model' },
  )
}

function imageFormFacts(form: MultipartResult, body: BodyLength): ReturnType<typeof factsFrom> {
  const size = readFormField(form, 'size')
  const quality = readFormField(form, 'quality')
  const facts = factsFromForm(form, body, 'image', {
    units: { images: readFormCount(form, 'n') ?? 1 },
    unitsVariant: imageVariant(size, quality),
  })
  const isLater = facts.isStreaming || laterMembers.some(name => readFormField(form, name) !== undefined)
  requireModel(facts, isLater, size, quality)
  return facts
}

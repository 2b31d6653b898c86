import type { ScanResult } from '../../http/json-scan.ts'
import { AnswerReader } from '../answer-reader.ts'
import { paidOperation } from '../operation-kinds.ts'
import { anyOf, base64, list, object, span, value } from '../interest.ts'
import type { AnswerMeasure } from '../measure.ts'
import { searched } from '../naming-members.ts'
import { readCount, readString } from '../read-field.ts'
import { factsFrom, sameModel } from '../request-facts.ts'

/** Imagen draws four unless told otherwise. */
const imagesUnlessSaid = 4

/** Each of a request's instances has its own images, or videos. */
export const instanceName = 'instance'

const instance = searched(
  { image: searched({ bytesbase64encoded: base64('image'), mimetype: value('mediaType') }) },
  span(instanceName),
)
const request = searched({
  ...sameModel,
  instances: anyOf(list(instance), instance),
  parameters: searched({ samplecount: value('images'), sampleimagesize: value('size') }),
})

const answer = object({
  error: value('error'),
  predictions: list(object({ bytesbase64encoded: span('image'), gcsuri: span('image') })),
})

/** Images that were filtered come without bytes, and are not billed. */
class PredictReader extends AnswerReader {
  #images = 0

  protected override onValue(name: string): void {
    if (name !== 'image') return
    this.#images += 1
    this.hasOutput = true
  }

  protected override measure(): AnswerMeasure {
    if (this.#images === 0) return { lines: [], details: {} }
    const variant = this.context.facts.unitsVariant
    const meters = { images: this.#images }
    return { lines: [variant === undefined ? { meters } : { meters, variant }], details: {} }
  }
}

/** `POST /models/{model}:predict`, Imagen's. */
export const predict = paidOperation('predict', 'images', {
  modelIn: 'path',
  interest: request,
  factsFromJson: (scan, body) =>
    factsFrom(scan, body, {
      units: { images: (readCount(scan, 'images') ?? imagesUnlessSaid) * instancesIn(scan) },
      unitsVariant: readString(scan, 'size')?.toLowerCase(),
    }),
  readUsage: (head, context) => new PredictReader(head, context, answer),
})

/** How many instances a request has: one where it says none. */
export function instancesIn({ findings }: ScanResult): number {
  return Math.max(1, findings.filter(({ name, type }) => name === instanceName && type === 'object').length)
}

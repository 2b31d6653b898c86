import { AnswerReader } from '../answer-reader.ts'
import type { Operation } from '../dialect.ts'
import { base64, list, object, span, value } from '../interest.ts'
import type { AnswerMeasure } from '../measure.ts'
import { searched } from '../naming-members.ts'
import { readCount, readString } from '../read-field.ts'
import { factsFrom, sameModel } from '../request-facts.ts'

/** Imagen draws four unless told otherwise. */
const imagesUnlessSaid = 4

const request = searched({
  ...sameModel,
  instances: list(
    searched({ image: searched({ bytesbase64encoded: base64('image'), mimetype: value('mediaType') }) }),
  ),
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
export const predict: Operation = {
  name: 'predict',
  body: 'json',
  modelIn: 'path',
  isFree: false,
  mainMeter: 'images',
  interest: request,
  factsFromJson: (scan, body) =>
    factsFrom(scan, body, {
      units: { images: readCount(scan, 'images') ?? imagesUnlessSaid },
      unitsVariant: readString(scan, 'size'),
    }),
  readUsage: (head, context) => new PredictReader(head, context, answer),
}

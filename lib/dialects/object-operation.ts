import type { Interest } from '../http/json-scan.ts'
import { AnswerReader } from './answer-reader.ts'
import type { Operation } from './dialect.ts'
import { freeOperation } from './free-operation.ts'
import type { AnswerMeasure } from './measure.ts'
import { factsFrom } from './request-facts.ts'

/** Reads an answer for the names of objects alone. */
class ObjectReader extends AnswerReader {
  protected override measure(): AnswerMeasure {
    return { lines: [], details: {} }
  }
}

/**
 * A free operation whose answer names objects, so that they are recorded.
 * @param answer where the names stand, by `names`
 */
export function objectOperation(
  name: string,
  answer: Interest,
  options: Parameters<typeof freeOperation>[1] = {},
): Operation {
  return {
    ...freeOperation(name, options),
    ...(options.interest !== undefined && { factsFromJson: factsFrom }),
    readUsage: (head, context) => new ObjectReader(head, context, answer),
    namesObjects: true,
  }
}

import type { Interest } from '../http/json-scan.ts'
import { AnswerReader } from './answer-reader.ts'
import type { Operation } from './dialect.ts'
import { freeOperation } from './free-operation.ts'
import { factsFrom } from './request-facts.ts'

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
    readUsage: (head, context) => new AnswerReader(head, context, answer),
    namesObjects: true,
  }
}

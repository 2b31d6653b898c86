import type { BodyKind, Operation } from './dialect.ts'
import type { Interest } from '../http/json-scan.ts'
import { AnswerReader } from './answer-reader.ts'
import { factsFrom } from './request-facts.ts'

/** An operation that costs nothing and reports nothing: no hold, no charge. */
export function freeOperation(
  name: string,
  options: Partial<Omit<Operation, 'name' | 'isFree' | 'mainMeter'>> = {},
): Operation {
  const body: BodyKind = options.body ?? 'none'
  return { modelIn: 'none', ...options, name, body, isFree: true, mainMeter: 'requests' }
}

/** An operation that is charged; a model that has no price for its main meter is refused. */
export function paidOperation(
  name: string,
  mainMeter: Operation['mainMeter'],
  options: Partial<Omit<Operation, 'name' | 'isFree' | 'mainMeter'>>,
): Operation {
  return { body: 'json', modelIn: 'body', ...options, name, isFree: false, mainMeter }
}

/** OpenAI, and what answers as it does here. */
export const atOpenai: ReadonlySet<string> = new Set(['openai', 'sandbox'])

/** An operation that is refused with 501 and this reason. */
export function unsupportedOperation(name: string, reason: string): Operation {
  return { name, body: 'opaque', modelIn: 'none', isFree: true, mainMeter: 'requests', unsupported: reason }
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
    readUsage: (head, context) => new AnswerReader(head, context, answer),
    namesObjects: true,
  }
}

import type { NamedObject } from '../../money/usage.ts'
import { anyOf, list, object } from '../interest.ts'
import { objectsIn } from '../named-objects.ts'
import { scanMessage, type Steps } from '../session-message.ts'
import { contents, part } from './content-request.ts'

const functionResponse = object({ parts: anyOf(list(part), part) })

const message = object({
  clientcontent: object({ turns: contents }),
  toolresponse: object({ functionresponses: anyOf(list(functionResponse), functionResponse) }),
})

/**
 * What a message of Gemini Live names; what its setup names is read with it.
 * @throws GatewayError body_invalid, field_ambiguous
 */
export function* liveObjects(data: Buffer): Steps<readonly NamedObject[]> {
  return objectsIn(yield* scanMessage(data, message, { foldUnderscores: true }))
}

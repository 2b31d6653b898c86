import { anyOf, list, object } from '../interest.ts'
import { objectsIn } from '../named-objects.ts'
import { namedModelsIn, searched, unread } from '../naming-members.ts'
import { scanMessage, type Steps } from '../session-message.ts'
import type { SessionNames } from '../session.ts'
import { contents, part } from './content-request.ts'

const functionResponse = object({ parts: anyOf(list(part), part) })

const message = searched({
  clientcontent: object({ turns: contents }),
  toolresponse: object({ functionresponses: anyOf(list(functionResponse), functionResponse) }),
  // Most messages are this, and name nothing.
  realtimeinput: unread,
})

/**
 * What a message of Gemini Live names; what its setup names is read with it.
 * @throws GatewayError body_invalid, field_ambiguous
 */
export function* liveNames(data: Buffer): Steps<SessionNames> {
  const scan = yield* scanMessage(data, message, { foldUnderscores: true })
  return { objects: objectsIn(scan), models: namedModelsIn(scan) }
}

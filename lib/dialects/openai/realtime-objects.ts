import type { NamedObject } from '../../money/usage.ts'
import { list, object } from '../interest.ts'
import { names, objectsIn } from '../named-objects.ts'
import { scanMessage, type Steps } from '../session-message.ts'
import { tool } from './responses.ts'

const prompt = object({ id: names('prompt') })
const item = object({ content: list(object({ file_id: names('file') })) })
const settings = { prompt, tools: list(tool) }

const message = object({
  item,
  session: object(settings),
  response: object({ ...settings, input: list(item) }),
})

/**
 * What a Realtime event names. Items of the conversation are the session's own.
 * @throws GatewayError body_invalid, field_ambiguous
 */
export function* realtimeObjects(event: Buffer): Steps<readonly NamedObject[]> {
  return objectsIn(yield* scanMessage(event, message))
}

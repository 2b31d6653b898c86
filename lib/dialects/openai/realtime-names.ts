import { list, object } from '../interest.ts'
import { names, objectsIn } from '../named-objects.ts'
import { namedModelsIn, searched } from '../naming-members.ts'
import { scanMessage, type Steps } from '../session-message.ts'
import type { SessionNames } from '../session.ts'
import { storedPrompt, tool } from './responses.ts'

const item = object({ content: list(object({ file_id: names('file') })) })
const settings = { prompt: storedPrompt, tools: list(tool) }

const message = searched({
  item,
  session: searched(settings),
  response: searched({ ...settings, input: list(item) }),
})

/**
 * What a Realtime event names. Items of the conversation are the session's own.
 * @throws GatewayError body_invalid, field_ambiguous
 */
export function* realtimeNames(event: Buffer): Steps<SessionNames> {
  const scan = yield* scanMessage(event, message)
  return { objects: objectsIn(scan), models: namedModelsIn(scan) }
}

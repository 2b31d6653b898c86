import type { ScanResult } from '../../http/json-scan.ts'
import type { BodyLength, Operation, RequestFacts } from '../dialect.ts'
import { atOpenai, freeOperation, objectOperation } from '../operation-kinds.ts'
import { list, object } from '../interest.ts'
import { names } from '../named-objects.ts'
import { searched } from '../naming-members.ts'
import { factsFrom } from '../request-facts.ts'
import { route, type RouteRow } from '../route-table.ts'
import { withoutEchoes, inputItem } from './response-input.ts'

const conversation = object({ id: names('conversation') })
/** A request with items, which may name files and items stored at the provider. */
const withItems = { freeAt: atOpenai, body: 'json', interest: searched({ items: list(inputItem) }) } as const

function itemsFacts(scan: ScanResult, body: BodyLength): RequestFacts {
  return factsFrom({ ...scan, findings: withoutEchoes(scan.findings) }, body)
}

/** `POST /conversations` */
const createConversation: Operation = {
  ...objectOperation('conversation', conversation, withItems),
  factsFromJson: itemsFacts,
}
/** `POST /conversations/{id}`: replaces the metadata. */
const updateConversation = objectOperation('conversation-update', conversation, {
  freeAt: atOpenai,
  body: 'json',
  interest: object({}),
})
const storedConversation = freeOperation('stored-conversation')
const deletedConversation = freeOperation('deleted-conversation', { isDeletion: true })
/**
 * `POST /conversations/{id}/items`. The added items are not recorded one by one: their tokens are unknown, so no hold
 * could cover a response that refers to one by its id.
 */
const addItems = freeOperation('conversation-items', { ...withItems, factsFromJson: itemsFacts })
const storedItems = freeOperation('stored-conversation-items')
const deletedItem = freeOperation('deleted-conversation-item')

const path = '/conversations/{id}'

/**
 * Conversations, below `/v1`. They are free: what a response reads of one is its input, and the hold assumes the
 * model's whole window. Mistral's conversations have the same path, and generate responses.
 * https://docs.mistral.ai/api/endpoint/beta/conversations
 */
export const openaiConversationRows: readonly RouteRow[] = [
  route('POST', '/conversations', createConversation),
  route('GET', path, storedConversation, { object: 'conversation' }),
  route('POST', path, updateConversation, { object: 'conversation' }),
  route('DELETE', path, deletedConversation, { object: 'conversation' }),
  route('GET', `${path}/items`, storedItems, { object: 'conversation' }),
  route('POST', `${path}/items`, addItems, { object: 'conversation' }),
  route('GET', `${path}/items/{item}`, storedItems, { object: 'conversation' }),
  route('DELETE', `${path}/items/{item}`, deletedItem, { object: 'conversation' }),
]

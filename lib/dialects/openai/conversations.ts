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
/** A request with items, which may name files, and items that the provider has kept. */
const withItems = { freeAt: atOpenai, body: 'json', interest: searched({ items: list(inputItem) }) } as const

function itemsFacts(scan: ScanResult, body: BodyLength): RequestFacts {
  return factsFrom({ ...scan, findings: withoutEchoes(scan.findings) }, body)
}

/** `POST /conversations` */
const createConversation: Operation = {
  ...objectOperation('conversation', conversation, withItems),
  factsFromJson: itemsFacts,
}
/** `POST /conversations/{id}`: other metadata. */
const updateConversation = objectOperation('conversation-update', conversation, {
  freeAt: atOpenai,
  body: 'json',
  interest: object({}),
})
const storedConversation = freeOperation('stored-conversation')
const deletedConversation = freeOperation('deleted-conversation', { isDeletion: true })
/**
 * `POST /conversations/{id}/items`. What is put in is not recorded item by item: nobody knows how many tokens one has, so a
 * response that referred to one by its id could not be held for.
 */
const addItems = freeOperation('conversation-items', { ...withItems, factsFromJson: itemsFacts })
const storedItems = freeOperation('stored-conversation-items')
const deletedItem = freeOperation('deleted-conversation-item')

const path = '/conversations/{id}'

/**
 * Conversations, below `/v1`. Nothing is paid for them by themselves: what a response reads of one is its input, and up
 * to the model's whole window of it is reckoned with. Mistral's have the same path, and answer.
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

import type { Interest, ScanResult } from '../http/json-scan.ts'
import type { NamedModel } from './dialect.ts'
import { anyOf, base64, list, object, value } from './interest.ts'
import { names, placeName } from './named-objects.ts'
import { textOf } from './read-field.ts'

/** Findings under this name are names of models beside the one that answers. */
export const namedModel = 'namedModel'

const oneModel = anyOf(value(namedModel), object({ id: value(namedModel), name: value(namedModel) }))
const model = anyOf(oneModel, list(oneModel))

function oneOrMore(kind: Parameters<typeof names>[0]): Interest {
  const one = anyOf(names(kind), object({ id: names(kind) }))
  return anyOf(one, list(one))
}

/**
 * What names a model or an object of the provider, by the name of its member: the same in bodies of JSON, in fields
 * of forms and in messages of sessions. The names begin with `*` where others may stand before them.
 */
export const namingMembers: Readonly<Record<string, Interest>> = {
  '*model': model,
  '*models': model,
  '*model_id': model,
  '*model_ids': model,
  '*model_name': model,
  '*model_names': model,
  fallback: model,
  file_id: oneOrMore('file'),
  '*_file_id': oneOrMore('file'),
  file_ids: oneOrMore('file'),
  '*_file_ids': oneOrMore('file'),
  container_id: oneOrMore('container'),
  vector_store_id: oneOrMore('vectorStore'),
  vector_store_ids: oneOrMore('vectorStore'),
  // xAI's name for the same.
  collection_id: oneOrMore('vectorStore'),
  collection_ids: oneOrMore('vectorStore'),
  conversation_id: oneOrMore('conversation'),
  environment_id: oneOrMore('environment'),
  skill_id: oneOrMore('skill'),
  previous_response_id: oneOrMore('response'),
  previous_interaction_id: oneOrMore('interaction'),
  previous_message_id: oneOrMore('thread'),
  cached_content: oneOrMore('cachedContent'),
  file_search_store_name: oneOrMore('fileSearchStore'),
  file_search_store_names: oneOrMore('fileSearchStore'),
  // Nobody makes these through the gateway: they are the operator's own, and may name models.
  preset: oneOrMore('preset'),
  agent_id: oneOrMore('agent'),
  memory_store_id: oneOrMore('memoryStore'),
  library_ids: oneOrMore('library'),
  connector_id: oneOrMore('connector'),
  tunnel_id: oneOrMore('tunnel'),
  user_profile_id: oneOrMore('userProfile'),
  // Characters are taken out of videos, and nobody takes them through the gateway.
  '*character_id': oneOrMore('video'),
  '*character_ids': oneOrMore('video'),
  '*video_id': oneOrMore('video'),
}

/** Members that hold what others read: schemas of tools, notes, calls that were made. */
const unreadMembers = [
  'metadata',
  'properties',
  '$defs',
  'definitions',
  'default',
  'examples',
  'enum',
  'const',
  'arguments',
  'args',
  'headers',
  'env',
  'variables',
  // What was found and quoted, nobody fetches.
  'annotations',
  'citations',
]

/** A member of a request that no provider takes a name from. */
export const unread: Interest = {}

const anywhereMembers = new Map(
  // Google takes camel case for the same, in any format.
  Object.entries(namingMembers).flatMap(([name, what]) => [
    [name, what],
    [name.replaceAll('_', ''), what],
  ]),
)
for (const name of unreadMembers) anywhereMembers.set(name, unread)
// By a name alone it is one of the provider's.
anywhereMembers.set('voice', object({ id: names('voice') }))

/** A part of a request in which only names are of interest, however deep they are. */
const anywhere: Interest & { items?: Interest } = { members: anywhereMembers }
anywhere.items = anywhere
anywhereMembers.set('*', anywhere)
// A provider fetches what stands there, and its own with the operator's credential.
const place: Interest & { items?: Interest } = { ...base64(placeName), members: anywhereMembers }
place.items = place
for (const name of ['*url', '*urls', '*uri', '*uris']) anywhereMembers.set(name, place)
// Where Google's tools look things up in the operator's cloud; elsewhere an engine is one of the provider's.
const ofCloud = ['rag_corpus', 'rag_corpora', 'rag_file_ids', 'datastore', 'data_store', 'engine']
const storeMembers = new Map(anywhereMembers)
for (const name of ofCloud) {
  for (const spelled of [name, name.replaceAll('_', '')]) storeMembers.set(spelled, oneOrMore('library'))
}
const cloudStore: Interest & { items?: Interest } = { members: storeMembers }
cloudStore.items = cloudStore
storeMembers.set('*', cloudStore)
for (const name of ['vertex_ai_search', 'vertexaisearch', 'vertex_rag_store', 'vertexragstore'])
  anywhereMembers.set(name, cloudStore)

/** An object of a request with members of its own; all others are searched for names. */
export function searched(members: Readonly<Record<string, Interest>>, itself?: Interest): Interest {
  return { ...itself, members: new Map([...anywhereMembers, ...Object.entries(members)]) }
}

/** The models that a request names beside the one that answers, each once, where it is named first. */
export function namedModelsIn({ findings }: ScanResult): readonly NamedModel[] {
  const found = new Map<string, NamedModel>()
  for (const finding of findings) {
    if (finding.name !== namedModel || finding.type !== 'string') continue
    const name = textOf(finding)
    if (name !== '' && !found.has(name)) found.set(name, { name, at: finding.path })
  }
  return [...found.values()]
}

/** Findings under this name are media where they are addresses or data URLs, and text otherwise. */
export const addressName = 'address'

const members = new Map<string, Interest>()
const other: Interest & { items?: Interest } = { members }
other.items = other
const addressed: Interest & { items?: Interest } = { ...base64(addressName), members }
addressed.items = addressed

/** Providers spell it in ways of their own: `file_url`, `fileUri`, `video: [...]`, `data`. */
const mayHoldAddress =
  '*url *urls *uri *uris data *_data *filedata *file *files *image *images *video *videos *audio *document *documents'
for (const name of mayHoldAddress.split(' ')) members.set(name, addressed)
members.set('*file_id', names('file'))
// What was cited, and what a tool was called with, nobody fetches.
for (const name of ['annotations', 'citations', 'logprobs', 'arguments', 'metadata', 'cache_control'])
  members.set(name, unread)
// The members that most parts have, found without a comparison of their ends.
for (const name of ['type', 'text']) members.set(name, unread)
members.set('*', other)

/**
 * Members of a part of a content that its format does not document. The provider may fetch whatever address or file
 * one holds, however deep, and give it to the model: its size is unknown, so it counts as the model's window.
 */
export const strangeMembers: Readonly<Record<string, Interest>> = Object.fromEntries(members)

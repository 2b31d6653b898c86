import type { Interest, ScanResult } from '../http/json-scan.ts'
import type { NamedModel } from './dialect.ts'
import { anyOf, base64, list, object, value } from './interest.ts'
import { names, placeName } from './named-objects.ts'
import { textOf } from './read-field.ts'

/** Findings under this name are models named beside the responding one. */
export const namedModel = 'namedModel'

const oneModel = anyOf(value(namedModel), object({ id: value(namedModel), name: value(namedModel) }))
const model = anyOf(oneModel, list(oneModel))

function oneOrMore(kind: Parameters<typeof names>[0]): Interest {
  const one = anyOf(names(kind), object({ id: names(kind) }))
  return anyOf(one, list(one))
}

/**
 * Members that name a model or an object of the provider, by the member's name: the same in JSON bodies, in form fields
 * and in messages of sessions. A leading `*` matches any prefix.
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
  // xAI's names for the same.
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
  // These cannot be created through the gateway: they are the operator's own, and may name models.
  preset: oneOrMore('preset'),
  agent_id: oneOrMore('agent'),
  memory_store_id: oneOrMore('memoryStore'),
  library_ids: oneOrMore('library'),
  connector_id: oneOrMore('connector'),
  tunnel_id: oneOrMore('tunnel'),
  user_profile_id: oneOrMore('userProfile'),
  // Characters are extracted from videos, which is not possible through the gateway.
  '*character_id': oneOrMore('video'),
  '*character_ids': oneOrMore('video'),
  '*video_id': oneOrMore('video'),
}

/** Members for other readers: schemas of tools, notes, earlier calls. */
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
  // Search results and quotations, which no provider fetches.
  'annotations',
  'citations',
]

/** A member of a request in which no provider looks for a name. */
export const unread: Interest = {}

const anywhereMembers = new Map(
  // Google accepts camel case for the same, in any format.
  Object.entries(namingMembers).flatMap(([name, what]) => [
    [name, what],
    [name.replaceAll('_', ''), what],
  ]),
)
for (const name of unreadMembers) anywhereMembers.set(name, unread)
// A bare name is one of the provider's own voices.
anywhereMembers.set('voice', object({ id: names('voice') }))

/** A part of a request in which only names are of interest, at any depth. */
const anywhere: Interest & { items?: Interest } = { members: anywhereMembers }
anywhere.items = anywhere
anywhereMembers.set('*', anywhere)
// A provider fetches these addresses, and its own ones with the operator's credential.
const place: Interest & { items?: Interest } = { ...base64(placeName), members: anywhereMembers }
place.items = place
for (const name of ['*url', '*urls', '*uri', '*uris']) anywhereMembers.set(name, place)
// Where Google's tools read from the operator's cloud; elsewhere an engine is one of the provider's.
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

/** An object of a request with members of its own; all other members are searched for names. */
export function searched(members: Readonly<Record<string, Interest>>, itself?: Interest): Interest {
  return { ...itself, members: new Map([...anywhereMembers, ...Object.entries(members)]) }
}

/** The models that a request names beside the responding one, each once, at its first position. */
export function namedModelsIn({ findings }: ScanResult): readonly NamedModel[] {
  const found = new Map<string, NamedModel>()
  for (const finding of findings) {
    if (finding.name !== namedModel || finding.type !== 'string') continue
    const name = textOf(finding)
    if (name !== '' && !found.has(name)) found.set(name, { name, at: finding.path })
  }
  return [...found.values()]
}

/** Findings under this name are media if they are addresses or data URLs, and text otherwise. */
export const addressName = 'address'

const members = new Map<string, Interest>()
const other: Interest & { items?: Interest } = { members }
other.items = other
const addressed: Interest & { items?: Interest } = { ...base64(addressName), members }
addressed.items = addressed

/** Providers use names of their own: `file_url`, `fileUri`, `video: [...]`, `data`. */
const mayHoldAddress =
  '*url *urls *uri *uris data *_data *filedata *file *files *image *images *video *videos *audio *document *documents'
for (const name of mayHoldAddress.split(' ')) members.set(name, addressed)
members.set('*file_id', names('file'))
// Citations and tool arguments, which no provider fetches.
for (const name of ['annotations', 'citations', 'logprobs', 'arguments', 'metadata', 'cache_control'])
  members.set(name, unread)
// The members of most parts, which an exact match finds without comparing suffixes.
for (const name of ['type', 'text']) members.set(name, unread)
members.set('*', other)

/**
 * Members of a content part that its format does not document. The provider may fetch any address or file in them, at
 * any depth, and pass it to the model: its size is unknown, so it counts as the model's whole window.
 */
export const strangeMembers: Readonly<Record<string, Interest>> = Object.fromEntries(members)

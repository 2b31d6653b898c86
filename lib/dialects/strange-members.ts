import type { Interest } from '../http/json-scan.ts'
import { base64 } from './interest.ts'
import { names } from './named-objects.ts'

/** Findings under this name are media where they are addresses or data URLs, and text otherwise. */
export const addressName = 'address'

const unread: Interest = {}
const members = new Map<string, Interest>()
const other: Interest & { items?: Interest } = { members }
other.items = other
const place: Interest & { items?: Interest } = { ...base64(addressName), members }
place.items = place

/** Providers spell it in ways of their own: `file_url`, `fileUri`, `video: [...]`, `data`. */
const mayHoldAddress =
  '*url *urls *uri *uris data *_data *filedata *file *files *image *images *video *videos *audio *document *documents'
for (const name of mayHoldAddress.split(' ')) members.set(name, place)
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

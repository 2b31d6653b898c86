import { anyOf, base64, list, object, span, value } from '../interest.ts'
import { names } from '../named-objects.ts'
import { searched, unread } from '../naming-members.ts'
import { containerMembers } from '../rented-containers.ts'
import { cacheMembers } from '../request-facts.ts'
import { toolInterest } from '../search-tools.ts'
import { strangeMembers } from '../strange-members.ts'

const inputPart = object({
  ...strangeMembers,
  text: span('itemText'),
  image_url: anyOf(base64('image'), object({ ...strangeMembers, url: base64('image') })),
  file_id: names('file'),
  file_data: base64('document'),
  file_url: anyOf(base64('document'), object({ ...strangeMembers, url: base64('document') })),
  input_audio: object({ ...strangeMembers, data: base64('audio') }),
  ...cacheMembers,
})

/** A tool, and what it looks things up in. */
export const tool = toolInterest(
  { ...cacheMembers, ...containerMembers, input_image_mask: searched({ image_url: base64('image') }) },
  cacheMembers,
)

/** A prompt that is stored at OpenAI. What stands for its variables are texts, or parts of an input. */
export const storedPrompt = searched({ id: names('prompt'), variables: object({ '*': inputPart }) })

/** Outputs of tools hold images too, and so do earlier responses that the client sends back. */
export const inputItem = searched({
  ...cacheMembers,
  id: names('item'),
  type: value('itemType'),
  role: value('itemRole'),
  encrypted_content: span('itemContent'),
  container_id: names('container'),
  environment: object({ container_id: names('container') }),
  content: anyOf(list(inputPart), inputPart),
  output: anyOf(list(inputPart), inputPart),
  result: base64('image'),
  // What was searched for and opened.
  action: unread,
  tools: list(tool),
})

import { atOpenai, freeOperation } from '../operation-kinds.ts'
import { anyOf, base64, list, object } from '../interest.ts'
import { searched } from '../naming-members.ts'
import { factsFrom, modelMembers } from '../request-facts.ts'

const request = searched({
  ...modelMembers,
  input: list(object({ image_url: anyOf(base64('image'), object({ url: base64('image') })) })),
})

/** `POST /moderations`, which OpenAI does not bill; Mistral bills its tokens. */
export const moderations = freeOperation('moderations', {
  freeAt: atOpenai,
  body: 'json',
  modelIn: 'body',
  interest: request,
  factsFromJson: (scan, body) => factsFrom(scan, body),
})

import { paidOperation } from '../operation-kinds.ts'
import { list, object, span, value } from '../interest.ts'
import { searched, strangeMembers } from '../naming-members.ts'
import { factsFrom, modelMembers } from '../request-facts.ts'
import { OpenaiReader } from './openai-reader.ts'

/** OpenRouter, Jina and Voyage accept images too, each in members of its own. */
const request = searched({ ...modelMembers, input: list(object(strangeMembers)) })

const response = object({
  model: value('model'),
  error: value('error'),
  usage: value('usage'),
  data: span('output'),
})

/** `POST /embeddings` */
export const embeddings = paidOperation('embeddings', 'input', {
  interest: request,
  factsFromJson: (scan, body) => ({ ...factsFrom(scan, body), isReadInParts: true }),
  readUsage: (head, context) => new OpenaiReader(head, context, response),
})

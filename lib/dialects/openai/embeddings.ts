import { paidOperation } from '../free-operation.ts'
import { object, span, value } from '../interest.ts'
import { searched } from '../naming-members.ts'
import { factsFrom, modelMembers } from '../request-facts.ts'
import { OpenaiReader } from './openai-reader.ts'

const request = searched(modelMembers)

const answer = object({
  model: value('model'),
  error: value('error'),
  usage: value('usage'),
  data: span('output'),
})

/** `POST /embeddings` */
export const embeddings = paidOperation('embeddings', 'input', {
  interest: request,
  factsFromJson: (scan, body) => ({ ...factsFrom(scan, body), isReadInParts: true }),
  readUsage: (head, context) => new OpenaiReader(head, context, answer),
})

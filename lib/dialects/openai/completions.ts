import type { ScanResult } from '../../http/json-scan.ts'
import { list, object, span, value } from '../interest.ts'
import { paidOperation } from '../operation-kinds.ts'
import { searched } from '../naming-members.ts'
import { readCount } from '../read-field.ts'
import { factsFrom, modelMembers, tierMembers } from '../request-facts.ts'
import { searchMembers } from '../search-tools.ts'
import { OpenaiReader } from './openai-reader.ts'
import { streamOptionsInterest, usageSplice } from './chat.ts'

const request = searched({
  ...modelMembers,
  ...tierMembers,
  ...searchMembers,
  stream: value('stream'),
  stream_options: streamOptionsInterest,
  max_tokens: value('cap'),
  n: value('candidates'),
  best_of: value('bestOf'),
  prompt: list(span('prompt')),
})

const response = object({
  model: value('model'),
  service_tier: value('tier'),
  error: value('error'),
  usage: value('usage'),
  x_groq: object({ usage: value('usage') }),
  choices: list(object({ text: span('text') })),
})

/** `POST /completions`, the legacy endpoint. */
export const completions = paidOperation('completions', 'output', {
  interest: request,
  factsFromJson(scan, body) {
    const splice = usageSplice(scan)
    const facts = factsFrom(scan, body, splice === undefined ? {} : { usageSplice: splice })
    // `best_of` completions are generated and billed, whether they are shown or not.
    const candidates = Math.max(facts.candidates, readCount(scan, 'bestOf') ?? 1)
    const prompts = countPrompts(scan)
    return { ...facts, candidates: candidates * prompts, isReadInParts: prompts > 1 }
  },
  readUsage: (head, context) => new OpenaiReader(head, context, response),
})

/** A list of strings is several prompts with a completion each; a list of numbers is one prompt in tokens. */
export function countPrompts(scan: ScanResult): number {
  let count = 0
  for (const { name, type } of scan.findings) {
    if (name === 'prompt' && (type === 'string' || type === 'array')) count += 1
  }
  return Math.max(1, count)
}

import { attacks, type Attack } from './attacks.ts'

/** So many of a kind stand in one batch. */
export const requestsPerBatch = 3

/** An attack whose request stands in a batch several times, at half the price. */
export interface BatchAttack {
  readonly name: string
  readonly attack: Attack
  readonly dialect: 'anthropic' | 'openai'
}

/** No batch may rent containers, name what is nobody's, or have a name of the operator's own for a model. */
const notInBatches =
  /code_|shell|stored prompt|made elsewhere|begun elsewhere|background|kept conversation|image_generation|several images|compacted|stream|name of its own/

/** OpenAI's batches go to OpenAI alone, and Anthropic's to Anthropic. */
export const batchAttacks: readonly BatchAttack[] = attacks
  .filter(
    ({ name, path }) =>
      /^\/(?:openai|anthropic)\/v1\/(?:messages|chat\/completions|responses)$/.test(path) &&
      !notInBatches.test(name),
  )
  .map(attack => ({
    name: attack.name,
    attack,
    dialect: attack.path.startsWith('/anthropic') ? 'anthropic' : 'openai',
  }))

/** The body that makes a batch of Anthropic's. */
export function inlineBatch({ body }: Attack): object {
  return {
    requests: Array.from({ length: requestsPerBatch }, (_, index) => ({
      custom_id: `r${index}`,
      params: body,
    })),
  }
}

/** The lines of a file for a batch of OpenAI's. */
export function batchLines({ path, body }: Attack): string {
  const url = path.replace('/openai', '')
  return Array.from(
    { length: requestsPerBatch },
    (_, index) => `${JSON.stringify({ custom_id: `r${index}`, method: 'POST', url, body })}\n`,
  ).join('')
}

/** What the provider makes of it, a line a request. */
export function resultLines({ attack, dialect }: BatchAttack): string {
  const { answer } = attack
  return Array.from({ length: requestsPerBatch }, (_, index) => {
    const custom_id = `r${index}`
    const line =
      dialect === 'anthropic'
        ? { custom_id, result: { type: 'succeeded', message: inTier(answer) } }
        : { id: `l${index}`, custom_id, response: { status_code: 200, body: answer }, error: null }
    return `${JSON.stringify(line)}\n`
  }).join('')
}

function inTier(answer: object): object {
  const { usage } = answer as { readonly usage?: object }
  return { ...answer, usage: { ...usage, service_tier: 'batch' } }
}

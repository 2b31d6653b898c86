import { attacks, type Attack } from './attacks.ts'

/** How often a batch repeats its request. */
export const requestsPerBatch = 3

/** An attack whose request is in a batch several times, at half the price. */
export interface BatchAttack {
  readonly name: string
  readonly attack: Attack
  readonly dialect: 'anthropic' | 'openai'
}

/** Batches may not rent containers, name unknown objects, or use the operator's own name for a model. */
const notInBatches =
  /code_|shell|stored prompt|made elsewhere|begun elsewhere|background|kept conversation|image_generation|several images|compacted|stream|name of its own/

/** Only OpenAI's and Anthropic's own batches are offered. */
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

/** The body that creates an Anthropic batch. */
export function inlineBatch({ body }: Attack): object {
  return {
    requests: Array.from({ length: requestsPerBatch }, (_, index) => ({
      custom_id: `r${index}`,
      params: body,
    })),
  }
}

/** The lines of an OpenAI batch file. */
export function batchLines({ path, body }: Attack): string {
  const url = path.replace('/openai', '')
  return Array.from(
    { length: requestsPerBatch },
    (_, index) => `${JSON.stringify({ custom_id: `r${index}`, method: 'POST', url, body })}\n`,
  ).join('')
}

/** The provider's results, one line for each request. */
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

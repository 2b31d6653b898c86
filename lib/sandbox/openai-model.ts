import { checkModel, SandboxFault } from './answer.ts'
import type { JsonObject } from './answer.ts'

/** The model a request names. @throws SandboxFault as OpenAI words it */
export function openaiModel(name: unknown): string {
  if (name === undefined) throw new SandboxFault(400, 'you must provide a model parameter')
  return checkModel(name, model => `The model \`${model}\` does not exist or you do not have access to it.`)
}

/** Usage of chat and legacy completions; the total is the sum. */
export function completionUsage(inputTokens: number, outputTokens: number): JsonObject {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }
}

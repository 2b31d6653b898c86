/** The models of the table read up to this many tokens, and write up to the number below. */
export const windowTokens = 200_000
export const outputTokens = 8192

/** The usage that a response reports. */
export interface Used {
  readonly input?: number
  readonly output?: number
  /** Further members of the usage. */
  readonly more?: Readonly<Record<string, unknown>> | undefined
  /** Members beside the usage. */
  readonly beside?: Readonly<Record<string, unknown>> | undefined
}

export function chatAnswer({ input = 100, output = outputTokens, more, beside }: Used): object {
  return {
    object: 'chat.completion',
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output, ...more },
    ...beside,
  }
}

export function responseAnswer({ input = 100, output = outputTokens, more }: Used): object {
  return {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: 'm',
    output: [{ type: 'message', content: [{ type: 'output_text', text: 'x' }] }],
    usage: { input_tokens: input, output_tokens: output, total_tokens: input + output },
    ...more,
  }
}

export function messageAnswer({ input = 100, output = outputTokens, more }: Used): object {
  return {
    type: 'message',
    model: 'm',
    content: [{ type: 'text', text: 'x' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: input, output_tokens: output, ...more },
  }
}

export function geminiAnswer({ input = 100, output = outputTokens, more }: Used): object {
  return {
    candidates: [{ content: { parts: [{ text: 'x' }] }, finishReason: 'STOP' }],
    usageMetadata: {
      promptTokenCount: input,
      candidatesTokenCount: output,
      totalTokenCount: input + output,
      ...more,
    },
  }
}

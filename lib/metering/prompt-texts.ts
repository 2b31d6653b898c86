/** What a request's JSON gives a model to read. */
export interface PromptTexts {
  /** Every string but settings. */
  readonly texts: readonly string[]
  /** Tools and schemas as JSON: their names and structure are read too. */
  readonly definitions: readonly string[]
  /** Turns of the conversation: each is wrapped in a few tokens. */
  readonly messages: number
}

/** Members that tell the provider what to do, and of which the model sees nothing. */
const settings: ReadonlySet<string> = new Set([
  'cache_control',
  'call_id',
  'detail',
  'effort',
  'encrypted_content',
  'format',
  'id',
  'include',
  'media_type',
  'metadata',
  'mime_type',
  'mimeType',
  'modalities',
  'model',
  'previous_response_id',
  'prompt_cache_key',
  'reasoning_effort',
  'response_modalities',
  'responseModalities',
  'role',
  'safety_identifier',
  'safetySettings',
  'service_tier',
  'signature',
  'status',
  'thought_signature',
  'thoughtSignature',
  'tool_call_id',
  'tool_choice',
  'tool_use_id',
  'toolConfig',
  'truncation',
  'type',
  'user',
  'verbosity',
])

const definitions: ReadonlySet<string> = new Set([
  'functions',
  'json_schema',
  'response_format',
  'response_schema',
  'responseJsonSchema',
  'responseSchema',
  'schema',
  'tools',
])

/** Deeper structures hold no text that anyone wrote. */
const depthMax = 64

/** Finds what the model reads in a request, in any of the dialects. */
export function promptTexts(request: unknown): PromptTexts {
  const found = { texts: [] as string[], definitions: [] as string[], messages: 0 }
  gather(request, found, 0)
  return found
}

function gather(
  value: unknown,
  found: { texts: string[]; definitions: string[]; messages: number },
  depth: number,
): void {
  if (typeof value === 'string') {
    found.texts.push(value)
  } else if (depth > depthMax || typeof value !== 'object' || value === null) {
    return
  } else if (Array.isArray(value)) {
    for (const item of value as readonly unknown[]) gather(item, found, depth + 1)
  } else {
    if ('role' in value || 'parts' in value) found.messages += 1
    for (const [name, member] of Object.entries(value)) {
      if (settings.has(name)) continue
      if (definitions.has(name)) found.definitions.push(JSON.stringify(member))
      else gather(member, found, depth + 1)
    }
  }
}

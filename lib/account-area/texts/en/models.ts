import type * as russian from '../ru/models.ts'

/** Models and their prices. */
export const models: typeof russian.models = {
  title: 'Models and prices',
  intro: 'Prices in roubles, as they are charged. Providers count the tokens; a line is rounded once.',
  search: 'Search',
  searchHint: "A part of a model's or a provider's name.",
  find: 'Find',
  reset: 'Reset',
  found: count => `Models: ${count}`,
  none: 'Nothing found',
  noneHint: 'Try a part of a name, such as “gpt” or “claude”.',
  empty: 'No model has a price yet',
  emptyHint: 'They will be here when the operator has set prices.',
  providers: 'Providers',
  allProviders: 'All',
  model: 'Model',
  input: 'Input',
  cachedInput: 'Cached input',
  output: 'Output',
  others: 'Other',
  perMillion: '₽ per 1M tokens',
  unitOf: 'per 1M',
  aliases: 'Also',
  anyEnding: 'An asterisk stands for any ending of the name.',
  whole: tokens => `If the input is longer than ${tokens} tokens, the whole request`,
  excess: tokens => `For what is longer than ${tokens} tokens`,
  tiers: {
    batch: 'Batched',
    flex: 'Tier flex',
    priority: 'Tier priority',
    fast: 'Tier fast',
    us: 'In the United States',
  },
  tier: name => `Tier ${name}`,
  from: day => `From ${day}`,
}

/** Ready snippets. */
export const quickStart: typeof russian.quickStart = {
  title: 'Quick start',
  intro: 'Two things are needed: the address of the gateway and a key. Any client will do that takes both.',
  address: 'Address of the gateway',
  key: 'Key',
  keyHint: 'Create a key and keep it in an environment variable. The examples below take it from there.',
  toKeys: 'To the keys',
  toModels: 'All models and prices',
  contents: 'Contents',
  curl: 'OpenAI, Anthropic and Gemini: each protocol has its own path and header.',
  python: 'The official libraries work as they are; only the address and the key are needed.',
  javascript: 'The official libraries work as they are; only the address and the key are needed.',
  claudeCode: 'The address without /v1. Claude models are chosen as usual.',
  codex: 'Add to the file ~/.codex/config.toml:',
  geminiCli: 'At the first start choose “Use Gemini API key”: the Google login goes past the gateway.',
  cursor: 'In Cursor open Settings, Models:',
  cursorSteps: {
    key: 'Put the key of the gateway into OpenAI API Key.',
    address: 'Switch on Override OpenAI Base URL and set the address:',
    models: 'Add the names of the models that are to go through the gateway, for example:',
  },
  cursorHint:
    "Cursor's servers make the requests, so the gateway must be reachable from the internet, with a certificate.",
}

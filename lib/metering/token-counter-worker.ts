import { parentPort } from 'node:worker_threads'
import vocabulary from 'tiktoken/encoders/o200k_base.json' with { type: 'json' }
import { Tiktoken } from 'tiktoken/lite'
import { countTokens, type TextToCount } from './count-tokens.ts'

// The counter's thread. It sends `ready`, then one count for each text. Any error here ends the thread: after a panic
// the tokenizer is unusable.
const port = parentPort
if (port === null) throw new Error('the tokenizer runs in a thread of its own')

const tiktoken = new Tiktoken(vocabulary.bpe_ranks, vocabulary.special_tokens, vocabulary.pat_str)
const tokenize = (text: string): number => tiktoken.encode_ordinary(text).length

port.on('message', (text: TextToCount) => port.postMessage(countTokens(text, tokenize)))
port.postMessage('ready')

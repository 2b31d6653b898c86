import { parentPort } from 'node:worker_threads'
import vocabulary from 'tiktoken/encoders/o200k_base.json' with { type: 'json' }
import { Tiktoken } from 'tiktoken/lite'
import { countTokens, type TextToCount } from './count-tokens.ts'

// The counter's thread. It says `ready`, then answers each text with its count. Whatever goes wrong here
// ends the thread: after a panic the tokeniser is of no use any more.
const port = parentPort
if (port === null) throw new Error('the tokeniser runs in a thread of its own')

const tiktoken = new Tiktoken(vocabulary.bpe_ranks, vocabulary.special_tokens, vocabulary.pat_str)
const tokenise = (text: string): number => tiktoken.encode_ordinary(text).length

port.on('message', (text: TextToCount) => port.postMessage(countTokens(text, tokenise)))
port.postMessage('ready')

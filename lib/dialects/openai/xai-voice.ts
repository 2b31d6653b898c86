import type { Operation } from '../dialect.ts'
import { value } from '../interest.ts'
import { searched } from '../naming-members.ts'
import { modelMembers } from '../request-facts.ts'
import type { RouteRow } from '../route-table.ts'
import { speech } from './speech.ts'
import { transcriptions } from './transcriptions.ts'

/** `POST /tts`. There is one model, which requests do not name; its price stands under this name. */
const xaiSpeech: Operation = {
  ...speech,
  name: 'tts',
  defaultModel: 'grok-tts',
  interest: searched({ ...modelMembers, text: value('input') }),
}

/** `POST /stt`, with the audio or its address. The answer tells how long it is. */
const xaiTranscription: Operation = { ...transcriptions, name: 'stt', defaultModel: 'grok-stt' }

/** xAI's voice, below `/v1`. */
export const xaiVoiceRows: readonly RouteRow[] = [
  { methods: ['POST'], path: '/tts', operation: xaiSpeech },
  { methods: ['POST'], path: '/stt', operation: xaiTranscription },
]

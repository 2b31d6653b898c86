import type { MultipartResult } from '../../http/multipart-scan.ts'
import type { BodyLength, Operation, RequestFacts } from '../dialect.ts'
import { factsFromForm, readFormField } from '../form-facts.ts'
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

/** `POST /stt`, a form with the sound or its address. The answer tells how long it is. */
const xaiTranscription: Operation = {
  name: 'stt',
  body: 'multipart',
  modelIn: 'body',
  defaultModel: 'grok-stt',
  isFree: false,
  mainMeter: 'audioSeconds',
  factsFromMultipart: transcriptionFacts,
  readUsage: (head, context) => transcriptions.readUsage?.(head, context),
}

function transcriptionFacts(form: MultipartResult, body: BodyLength): RequestFacts {
  const facts = factsFromForm(form, body, 'audio')
  const url = readFormField(form, 'url')
  if (url === undefined || url === '') return facts
  // What xAI fetches itself may be as long as any.
  const fetched = { path: 'url', kind: 'audio', fieldKind: 'audio', bodyStart: 0, bodyBytes: 0 } as const
  return { ...facts, media: [...facts.media, fetched] }
}

/** xAI's voice, below `/v1`. */
export const xaiVoiceRows: readonly RouteRow[] = [
  { methods: ['POST'], path: '/tts', operation: xaiSpeech },
  { methods: ['POST'], path: '/stt', operation: xaiTranscription },
]

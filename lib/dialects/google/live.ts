import { GatewayError } from '../../pipeline/errors.ts'
import type { ScanResult } from '../../http/json-scan.ts'
import type { Operation, RequestFacts } from '../dialect.ts'
import { object, value } from '../interest.ts'
import { findField, readString, textOf } from '../read-field.ts'
import { names, objectsIn } from '../named-objects.ts'
import { namedModelsIn, searched } from '../naming-members.ts'
import { providerToolsIn } from '../search-tools.ts'
import { content, tools } from './content-request.ts'
import { liveNames } from './live-names.ts'
import { LiveReader } from './live-reader.ts'

const prefix = 'models/'

/** The model as other paths name it, and the bytes of its name without `models/`. */
function modelOf(scan: ScanResult): Pick<RequestFacts, 'model' | 'modelSpan'> {
  const found = findField(scan, 'model')
  if (found === undefined) {
    throw new GatewayError(
      'body_invalid',
      'The first message of a session must be its setup, with a model.',
      {
        param: 'setup.model',
      },
    )
  }
  const text = textOf(found)
  // Only its own bytes are ever replaced, so they must be the name itself.
  if (found.end - found.start !== Buffer.byteLength(text) + 2 || !text.startsWith(prefix)) {
    throw new GatewayError('body_invalid', 'setup.model must be "models/" and a name, without escapes.', {
      param: 'setup.model',
    })
  }
  return {
    model: text.slice(prefix.length),
    modelSpan: { start: found.start + 1 + prefix.length, end: found.end - 1 },
  }
}

function factsFromSetup(scan: ScanResult, body: { readonly length: number }): RequestFacts {
  const handle = readString(scan, 'handle')
  return {
    ...modelOf(scan),
    isStreaming: true,
    candidates: 1,
    textBytes: body.length,
    media: [],
    namedModels: namedModelsIn(scan),
    tools: providerToolsIn(scan),
    objects: [
      ...objectsIn(scan),
      ...(handle === undefined ? [] : [{ kind: 'session', id: handle } as const]),
    ],
  }
}

/** Gemini Live, whose first message names the model. */
export const live: Operation = {
  name: 'live',
  body: 'json',
  modelIn: 'body',
  isFree: false,
  mainMeter: 'audioOutput',
  interest: object({
    setup: searched({
      model: value('model'),
      sessionresumption: object({ handle: value('handle') }),
      systeminstruction: content,
      tools,
      cachedcontent: names('cachedContent'),
    }),
  }),
  factsFromJson: factsFromSetup,
  session: {
    beginsWithMessage: true,
    createReader: ({ model }) => new LiveReader(model),
    namesIn: liveNames,
  },
}

import type { RouteMatch, Operation, RequestFacts } from '../dialect.ts'
import { GatewayError } from '../../pipeline/errors.ts'
import type { ScanResult } from '../../http/json-scan.ts'
import { object, value, anyOf, list } from '../interest.ts'
import { findField, readString, textOf } from '../read-field.ts'
import { names, objectsIn } from '../named-objects.ts'
import { namedModelsIn, searched, unread } from '../naming-members.ts'
import { providerToolsIn } from '../search-tools.ts'
import { content, tools, contents, part } from './content-request.ts'
import { LiveReader } from './live-reader.ts'
import { scanMessage } from '../session-message.ts'
import type { Steps } from '../session-message.ts'
import type { SessionNames } from '../session.ts'

/** With a token in place of a key the method has another name; tokens are made elsewhere. */
const livePath =
  /^\/ws\/google\.ai\.generativelanguage\.v1(?:alpha|beta)?\.GenerativeService\.BidiGenerateContent(?=\?|$)/

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

const functionResponse = object({ parts: anyOf(list(part), part) })

const message = searched({
  clientcontent: object({ turns: contents }),
  toolresponse: object({ functionresponses: anyOf(list(functionResponse), functionResponse) }),
  // Most messages are this, and name nothing.
  realtimeinput: unread,
})

/**
 * What a message of Gemini Live names; what its setup names is read with it.
 * @throws GatewayError body_invalid, field_ambiguous
 */
function* liveNames(data: Buffer): Steps<SessionNames> {
  const scan = yield* scanMessage(data, message, { foldUnderscores: true })
  return { objects: objectsIn(scan), models: namedModelsIn(scan) }
}

/** Gemini Live, whose first message names the model. */
const live: Operation = {
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

/** Gemini Live's path, which stands at the provider's origin; undefined for any other. */
export function matchLive(pathAndQuery: string): RouteMatch | undefined {
  return livePath.test(pathAndQuery)
    ? { operation: live, upstreamPath: pathAndQuery, isAtOrigin: true }
    : undefined
}

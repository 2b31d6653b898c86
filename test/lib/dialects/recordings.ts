import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { anthropic } from '../../../lib/dialects/anthropic/anthropic.ts'
import type { Dialect, Operation, RequestFacts } from '../../../lib/dialects/dialect.ts'
import { google } from '../../../lib/dialects/google/google.ts'
import { openai } from '../../../lib/dialects/openai/openai.ts'
import { JsonScanner, scanJson } from '../../../lib/http/json-scan.ts'

const folder = resolve(import.meta.dirname, '../../../../shared/recordings')

/** Real exchanges with providers, stored outside the project; tests that use them are skipped where they are absent. */
export const recordingsSkip = existsSync(`${folder}/index.json`) ? false : `no recordings in ${folder}`

export interface Recording {
  readonly file: string
  readonly api: string
  readonly request:
    | {
        readonly method: string
        readonly host: string
        readonly path: string
        readonly body: string
        readonly body_encoding: string
        readonly headers: Readonly<Record<string, string>>
      }
    | null
    | undefined
  readonly response: {
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
    readonly body_encoding: string
  }
  readonly stream: boolean
  readonly expected_usage: unknown
  readonly expected_normalised?: Readonly<Record<string, unknown>> | null
}

/** All exchanges over HTTP. WebSocket sessions have another format and are left out. */
export function loadRecordings(): readonly Recording[] {
  const index = JSON.parse(readFileSync(`${folder}/index.json`, 'utf8')) as { file: string }[]
  return index
    .map(({ file }) => {
      const recording = JSON.parse(readFileSync(`${folder}/${file}`, 'utf8')) as Omit<Recording, 'file'>
      return { ...recording, file }
    })
    .filter(({ api }) => api !== 'realtime-ws')
}

const openaiTail =
  /\/(?:chat\/completions|completions|responses(?:\/[\w-]+)?|embeddings|images\/\w+|audio\/\w+|rerank|moderations)$/

/** The operation that a recorded request is routed to; undefined if the gateway has none. */
export function routeOf(recording: Recording): { dialect: Dialect; operation: Operation } | undefined {
  const { request } = recording
  if (recording.api === 'payload-only') return payloadRoute(recording)
  if (request === null || request === undefined) return undefined
  const path = (request.path.split('?')[0] ?? '').replace(/\/+$/, '')
  const attempt = (dialect: Dialect, from: string) => {
    const { operation } = dialect.match(request.method, from)
    return operation.unsupported === undefined ? { dialect, operation } : undefined
  }
  if (path.startsWith('/v1/files')) {
    return attempt(request.host === 'api.anthropic.com' ? anthropic : openai, path.slice('/v1'.length))
  }
  if (path.startsWith('/v1/batches')) return attempt(openai, path.slice('/v1'.length))
  if (path.startsWith('/upload/')) return attempt(google, path + request.path.slice(path.length))
  if (/\/v1\/messages(\/|$)/.test(path)) return attempt(anthropic, path.slice(path.indexOf('/messages')))
  const tail = openaiTail.exec(path)?.[0]
  if (tail !== undefined && request.host !== 'api.cohere.com') return attempt(openai, tail)
  if (path.startsWith('/v1beta/')) return attempt(google, path.slice('/v1beta'.length))
  if (request.host === 'api.cohere.com') return { dialect: openai, operation: openai.generic }
  return undefined
}

/** Routes payloads recorded without their request by the names of their files. */
function payloadRoute({ file }: Recording): { dialect: Dialect; operation: Operation } | undefined {
  const name = file.replace('payload-only/', '')
  if (name.startsWith('anthropic'))
    return { dialect: anthropic, operation: anthropic.match('POST', '/messages').operation }
  if (name.startsWith('openai-responses'))
    return { dialect: openai, operation: openai.match('POST', '/responses').operation }
  if (name.startsWith('gemini-interactions'))
    return { dialect: google, operation: google.match('POST', '/interactions').operation }
  if (!/^(?:alibaba|perplexity|xai)/.test(name)) return undefined
  return { dialect: openai, operation: openai.match('POST', '/chat/completions').operation }
}

export function providerKindOf(recording: Recording): string {
  if (recording.api === 'payload-only') return /\/([a-z]+)/.exec(recording.file)?.[1] ?? ''
  const compat = /^compat\/(.+)$/.exec(recording.api)?.[1]
  if (compat !== undefined) return compat
  return recording.api.startsWith('gemini') ? 'google' : (recording.api.split('-')[0] ?? '')
}

export const noFacts: RequestFacts = {
  isStreaming: false,
  candidates: 1,
  textBytes: 0,
  media: [],
  objects: [],
}

/** The facts of the recorded request; `noFacts` if its body was not recorded as JSON. */
export function factsOf(recording: Recording, operation: Operation, dialect: Dialect): RequestFacts {
  const { request } = recording
  if (request === null || request === undefined || operation.interest === undefined) return noFacts
  if (request.body_encoding !== 'utf8' || !request.body.startsWith('{')) return noFacts
  const body = Buffer.from(request.body)
  const options = { foldUnderscores: dialect.name === 'google', countsText: true }
  const parts = operation.readJsonParts?.()
  if (parts === undefined) {
    return operation.factsFromJson?.(scanJson(body, operation.interest, options), body) ?? noFacts
  }
  const scanner = new JsonScanner(operation.interest, options)
  scanner.push(body)
  parts.take(scanner.takeWhole(parts.partName))
  return parts.end(scanner.end(), body)
}

export function bytesOf(response: Recording['response']): Buffer {
  return Buffer.from(response.body, response.body_encoding === 'base64' ? 'base64' : 'utf8')
}

import type { StandardSchemaV1 } from '@standard-schema/spec'

/** The key that a request was sent with; provided by `auth`. */
export interface PluginKey {
  readonly id: string
  readonly name: string
  readonly accountId: string
}

/** The content of a request; provided by `model-router`. */
export interface PluginRequest {
  /** As the client wrote it; undefined for operations without a model. */
  readonly model: string | undefined
  readonly isStreaming: boolean
  /** The request's own limit on output tokens. */
  readonly outputTokensCap: number | undefined
  /** Images, audio, video and documents in the body. */
  readonly mediaCount: number
}

/** The destination of a request; provided by `model-router`. */
export interface PluginTarget {
  readonly provider: string
  /** The model's name in the config, and its name at the provider. */
  readonly model: string
  readonly upstreamModel: string
}

/**
 * What plugins may know about an exchange, by name. Add the facts that your own plugins provide by declaration
 * merging: `declare module 'gateway/plugin' { interface PluginFacts { verdict: Verdict } }`.
 */
export interface PluginFacts {
  key: PluginKey
  request: PluginRequest
  target: PluginTarget
}

/** The name of a fact about an exchange. */
export type PluginFact = keyof PluginFacts

/** An error that the client receives in its dialect, made by `context.error`. */
export interface PluginError extends Error {
  readonly code: string
}

/** The optional parts of an error. */
export interface PluginErrorOptions {
  /** The part of the request that is wrong, by its path in the body: `messages[3].content`. */
  readonly param?: string
  /** Seconds for the `retry-after` header, for errors with `retry: 'after'`. */
  readonly retryAfterSeconds?: number
  /** For the log; clients do not see it. */
  readonly cause?: unknown
}

/** One request and its response, as a plugin sees it: no body, no credentials, and only the facts it declared. */
export interface PluginExchange<Needs extends PluginFact = never, Provides extends PluginFact = never> {
  /** The client receives it in `x-gateway-request-id`. */
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly method: string
  /** Without the query, which may contain the client's key. */
  readonly path: string
  readonly dialect: 'openai' | 'anthropic' | 'google'
  /** The API operation, such as `chat`, `messages` or `generate-content`. */
  readonly operation: string
  /** A header of the request by its name in any case; undefined for every header that can contain a credential. */
  header(name: string): string | undefined
  /** @throws Error when no plugin has set the fact */
  get<F extends Needs | Provides>(fact: F): PluginFacts[F]
  find<F extends Needs | Provides>(fact: F): PluginFacts[F] | undefined
  set<F extends Provides>(fact: F, value: PluginFacts[F]): void
  /**
   * Adds a header to the response, errors of the gateway included. Until the end of `onResponse`.
   * @throws TypeError for a name or value that cannot be sent, and for headers that frame or describe the body
   */
  addResponseHeader(name: string, value: string): void
  /** Ends a response that is being relayed: the client receives the error where its format has a place for one. */
  cut(error: PluginError): void
}

/** The request to the provider. */
export interface UpstreamRequest {
  /**
   * Sets a header, replacing the client's of that name.
   * @throws TypeError for a name or value that cannot be sent, for credentials, and for headers that frame or describe
   * the body
   */
  setHeader(name: string, value: string): void
}

/** Reads the text of a request in order, piece by piece. Throw a `context.error(...)` to refuse the request. */
export interface TextReader {
  /**
   * Receives at most 65,536 characters. A piece may end in the middle of a word: keep what you need of its end. JSON
   * escapes are decoded; names and punctuation of the JSON are part of the text.
   */
  onText(piece: string): void
  /** Called after all of the text. The request waits for the promise. */
  onEnd?(): void | Promise<void>
}

/** The provider's response before its body. */
export interface PluginResponse {
  readonly status: number
  header(name: string): string | undefined
}

/** Watches a response. It receives copies, and nothing waits for it. */
export interface PluginTap {
  /** The bytes as the provider sent them, compressed where it compressed them. */
  onData?(bytes: Uint8Array): void
  /** The same bytes as text: decompressed, with JSON escapes decoded. Like `TextReader.onText`. */
  onText?(piece: string): void
}

/** How an exchange ended. */
export interface PluginOutcome {
  /**
   * completed: all of the response was sent. refused: an error of the gateway was sent. aborted: the client left.
   * broken: the response was cut after it had begun.
   */
  readonly kind: 'completed' | 'refused' | 'aborted' | 'broken'
  /** The response's status; undefined when the client left before a response began. */
  readonly status: number | undefined
  /** The error's code, for refused and broken. */
  readonly code: string | undefined
}

/** A charge to an account for an exchange, a turn of a session or a job. */
export interface PluginCharge {
  /** The id of the exchange that caused it, and the number of the turn; 0 where there is one charge. */
  readonly requestId: string
  readonly sequence: number
  readonly accountId: string
  readonly keyId: string
  readonly provider: string
  readonly model: string
  readonly dialect: string
  readonly operation: string
  /** Units by meter: `{ input: 120, output: 40 }`. */
  readonly usage: Readonly<Record<string, number>>
  /** What the account paid; a rouble is 1,000,000. */
  readonly amountMicros: number
  /** What an operator should check, such as `usage_missing`. */
  readonly flags: readonly string[]
}

/**
 * The hooks of a plugin. Every hook is optional. An error that is not a `context.error(...)` is the plugin's own
 * failure: it refuses the request in `onRequest` and `onRequestText`, and anywhere else it is only logged.
 */
export interface PluginHooks<Exchange> {
  /** Called once, before the gateway listens or applies a reloaded config. Throw to prevent that. */
  start?(): void | Promise<void>
  /**
   * Called in the order of the config, when a request's headers have been read. Throw `context.error(...)` to refuse
   * it.
   */
  onRequest?(exchange: Exchange): void | Promise<void>
  /**
   * Return a reader to see all text of the request before the provider does: bodies of any size, uploads as they
   * pass, and each message of a WebSocket session.
   */
  onRequestText?(exchange: Exchange): TextReader | undefined
  /** Every gate has passed the request, and it is about to be sent. */
  onUpstreamRequest?(exchange: Exchange, request: UpstreamRequest): void
  /** The head of the provider's response has arrived. Return a tap to watch its body. */
  onResponse?(exchange: Exchange, response: PluginResponse): PluginTap | undefined
  /** A charge is durable: called once for each, in this process. Nothing waits for it. */
  onCharge?(charge: PluginCharge): void | Promise<void>
  /** Called once for each exchange. Nothing waits for it. */
  onEnd?(exchange: Exchange, outcome: PluginOutcome): void | Promise<void>
  /** Called once, when the last exchange has ended. */
  stop?(): void | Promise<void>
}

/** Writes to the gateway's log, with the plugin's name in each line. */
export interface PluginLog {
  debug(facts: object, message: string): void
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}

/** A metric of the plugin's own, shown as `gateway_plugin_<plugin>_<name>` with those of the gateway. */
export interface PluginCounter {
  /** @param labels a value for each of the counter's label names; use few different values */
  increase(labels?: Readonly<Record<string, string>>, by?: number): void
}

/** What a plugin receives when it is created. */
export interface PluginContext<Codes extends string = string> {
  readonly log: PluginLog
  /** The folder of the config file. */
  readonly folder: string
  /** Milliseconds since the epoch. */
  now(): number
  /** An error of the plugin's own, with one of the codes in its `errors`. */
  error(code: Codes, message: string, options?: PluginErrorOptions): PluginError
  /** @param name lower case with underscores, ending in `_total` */
  counter(name: string, help: string, labelNames?: readonly string[]): PluginCounter
}

/** One of a plugin's own errors. Its code is shown as OpenAI's `code` and Google's `reason`. */
export interface PluginErrorShape {
  /** Decides the type that the official SDKs raise. */
  readonly status: 400 | 401 | 402 | 403 | 404 | 413 | 429 | 500 | 501 | 502 | 503
  /** Whether clients should send the request again: `no` (the default) or `after` some seconds. */
  readonly retry?: 'no' | 'after'
}

/** The one export of a plugin's file. */
export interface PluginDefinition<
  Needs extends readonly PluginFact[] = readonly PluginFact[],
  Provides extends readonly PluginFact[] = readonly PluginFact[],
  Schema extends StandardSchemaV1 | undefined = StandardSchemaV1 | undefined,
  Codes extends string = string,
> {
  /** Its name in logs, metrics and errors: lower case with hyphens. */
  readonly name: string
  /** The schema of its options in the config, by any Standard Schema (zod, valibot, arktype); absent: it has none. */
  readonly options?: Schema
  /** Facts that it reads. A plugin that provides them must precede it in the config. */
  readonly needs?: Needs
  /** Facts that it sets. */
  readonly provides?: Provides
  /** Its own errors by their codes. */
  readonly errors?: Readonly<Record<Codes, PluginErrorShape>>
  create(
    context: PluginContext<Codes>,
    options: Schema extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<Schema> : Record<string, never>,
  ): PluginHooks<PluginExchange<Needs[number], Provides[number]>>
}

/** Checks a definition's types and returns it: the use of an undeclared fact or error does not compile. */
export function definePlugin<
  const Needs extends readonly PluginFact[] = readonly [],
  const Provides extends readonly PluginFact[] = readonly [],
  Schema extends StandardSchemaV1 | undefined = undefined,
  Codes extends string = never,
>(
  definition: PluginDefinition<Needs, Provides, Schema, Codes>,
): PluginDefinition<Needs, Provides, Schema, Codes> {
  return definition
}

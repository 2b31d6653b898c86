import { connectRaw, type RawClient } from '../fixtures/raw-client.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { chunked, plainAnswer } from '../fixtures/raw-upstream.ts'
import type { ServedProcess } from '../fixtures/serve-process.ts'
import { until } from '../fixtures/until.ts'
import type { FaultContext } from './fault.ts'
import { json, openai, streamHead } from './observe.ts'

const pieces = chunked(openai.events.map(event => Buffer.from(event)))

/** The provider begins streams and ends them on request; it sends documents at once. */
export function beginStreams({ upstream }: FaultContext): void {
  upstream.answer = ({ body }) =>
    body.includes('"stream":true')
      ? { pieces: [streamHead, ...pieces.slice(0, 2)] }
      : plainAnswer(200, json, openai.document)
}

/** Sends the rest of every stream that has begun. */
export function endStreams({ upstream }: FaultContext): void {
  for (const socket of upstream.openSockets) socket.write(Buffer.concat(pieces.slice(2)))
}

/** Requests a stream, and waits for nothing. */
export async function requestStream(context: FaultContext, served: ServedProcess): Promise<RawClient> {
  const body = openai.body(true)
  const client = await connectRaw(context.t, served.url)
  client.socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${served.key}\r\n` +
      `content-length: ${body.length}\r\n\r\n${body}`,
  )
  return client
}

export async function openStream(context: FaultContext, served: ServedProcess): Promise<RawClient> {
  const client = await requestStream(context, served)
  await client.waitFor('upon a time')
  return client
}

export async function askServed(
  served: ServedProcess,
  headers: readonly string[] = [],
): Promise<ClientAnswer> {
  return await send(`${served.url}/v1/chat/completions`, {
    headers: [...openai.keyHeader(served.key), ...headers],
    body: openai.body(false),
  })
}

/**
 * The charges in the ledger of a process by kind; reports its violations when it is not in order.
 * @param flagIgnored a flag that does not distinguish kinds
 */
export async function ledgerOf(served: ServedProcess, flagIgnored?: string): Promise<string> {
  await until(async () => (await served.heldMicros()) === 0)
  const kinds = new Map<string, number>()
  for (const { outcome, amount, usageSource, flags } of await served.charges()) {
    const isEstimate = usageSource === 'estimated' && Number(amount) > 0
    const shown = flags.filter(flag => flag !== flagIgnored)
    const kind = [outcome, isEstimate ? 'estimated' : `${amount} ${usageSource}`, ...shown].join(' ')
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
  }
  const breaches = await served.breaches()
  const said = [...kinds].map(([kind, count]) => `${count} ${kind}`).toSorted()
  return [...said, ...breaches].join(', ')
}

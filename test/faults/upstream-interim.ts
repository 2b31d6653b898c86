import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { callConfig } from '../fixtures/dialect-call.ts'
import { connectRaw, parseAnswers } from '../fixtures/raw-client.ts'
import { headLines, plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { until } from '../fixtures/test-gateway.ts'
import type { Fault, FaultContext } from './fault.ts'
import { alike, ask, eachDialect, json, openai, requestBytes, sentence, serves } from './observe.ts'

/** An upstream that responds 413 when it has a part of the body, and then reads on or closes. */
async function startImpatient(context: FaultContext, then: 'read' | 'close'): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    let byteCount = 0
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', chunk => {
      if (chunk.includes('POST ')) byteCount = 0
      const wasBelow = byteCount < 100_000
      byteCount += chunk.length
      if (!wasBelow || byteCount < 100_000) return
      socket.write(Buffer.concat([headLines(413, [...json, 'content-length', '8']), Buffer.from('too much')]))
      if (then === 'close') socket.end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  context.t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function answerEarly(context: FaultContext, then: 'read' | 'close'): Promise<string> {
  const origin = await startImpatient(context, then)
  const gateway = await context.startGateway({ config: callConfig(origin), rub: 100_000 })
  const body = JSON.stringify({
    model: 'test-model',
    max_tokens: 100,
    messages: [{ role: 'user', content: 'word '.repeat(1_000_000) }],
  })
  const found: string[] = []
  const client = await connectRaw(context.t, gateway.url)
  const request = requestBytes(context, openai, { gateway, body }).replace('connection: close\r\n', '')
  for (let turn = 1; turn <= 2; turn += 1) {
    client.socket.write(request)
    await until(() => parseAnswers(client.received()).filter(answer => answer.isWhole).length === turn)
    const { status, body: got } = parseAnswers(client.received()).at(-1) ?? {}
    found.push(`${status} ${got?.toString()}; ${await context.nextEnd(gateway)}`)
  }
  client.socket.destroy()
  return `${alike(['first', 'second'], found)}; twice on one connection`
}

const malformed: Readonly<Record<string, string>> = {
  'no version': 'HTTP 200 OK\r\ncontent-length: 2\r\n\r\n{}',
  'a status of letters': 'HTTP/1.1 OK\r\ncontent-length: 2\r\n\r\n{}',
  'line feeds only': 'HTTP/1.1 200 OK\ncontent-length: 2\n\n{}',
  'a folded header': 'HTTP/1.1 200 OK\r\nx-a: 1\r\n 2\r\ncontent-length: 2\r\n\r\n{}',
  'a length and a coding': 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}',
  'two lengths': 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}',
  'a negative length': 'HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n{}',
  'a NUL in a header': 'HTTP/1.1 200 OK\r\nx-a: \0\r\ncontent-length: 2\r\n\r\n{}',
}

export const upstreamInterim: readonly Fault[] = [
  {
    number: 8,
    title: 'a client waits for 100 Continue (its half)',
    expected:
      '100 once, then 200 whole, bytes equal; completed; 0.046000 provider; sent once, without expect',
    async run(context) {
      context.upstream.answer = () => plainAnswer(200, json, openai.document)
      const client = await connectRaw(context.t, context.gateway.url)
      const request = requestBytes(context, openai, { lines: 'expect: 100-continue\r\n' })
      const split = request.indexOf('\r\n\r\n') + 4
      client.socket.write(request.slice(0, split))
      await client.waitFor('\r\n\r\n')
      client.socket.write(request.slice(split))
      const end = await client.ended
      const answers = parseAnswers(client.received())
      const interim = answers.filter(({ status }) => status < 200).map(({ status }) => status)
      const final = sentence({ end, answers, answer: answers.at(-1) }, openai, openai.document)
      const sent = context.upstream.requests
      const expect = /expect/i.test(String(sent[0]?.headers)) ? 'with' : 'without'
      return `${interim.join()} once, then ${final}; ${await context.nextEnd()}; sent ${sent.length === 1 ? 'once' : sent.length}, ${expect} expect`
    },
  },
  {
    number: 9,
    title: '102 and 103 before the response',
    expected: '200 whole, bytes equal; completed; 0.046000 provider',
    run: context =>
      eachDialect(async call => {
        const interim = 'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'
        const final = plainAnswer(200, json, call.document)
        context.upstream.answer = () => ({ pieces: [Buffer.from(interim), ...final.pieces] })
        return `${sentence(await ask(context, call), call, call.document)}; ${await context.nextEnd()}`
      }),
  },
  {
    number: 10,
    title: '413 in the middle of a body of 5 MB, then it closes',
    expected: '413 too much; completed; 0.000000 provider provider_refused; twice on one connection',
    run: context => answerEarly(context, 'close'),
  },
  {
    number: 10,
    title: '413 in the middle of a body of 5 MB, and it reads on',
    expected: '413 too much; completed; 0.000000 provider provider_refused; twice on one connection',
    run: context => answerEarly(context, 'read'),
  },
  {
    number: 11,
    title: 'headers near the limit: 500 of them, one of 20 KB',
    expected: '200 whole, bytes equal; completed; 0.046000 provider',
    async run(context) {
      const many = Array.from({ length: 500 }, (_, n) => [`x-header-${n}`, 'a'.repeat(80)]).flat()
      const long = ['set-cookie', `a=${'a'.repeat(20_000)}`]
      const found: string[] = []
      for (const headers of [many, long]) {
        context.upstream.answer = () => plainAnswer(200, [...json, ...headers], openai.document)
        found.push(
          `${sentence(await ask(context, openai), openai, openai.document)}; ${await context.nextEnd()}`,
        )
      }
      return alike(['many', 'long'], found)
    },
  },
  {
    number: 11,
    title: 'headers beyond the limit of 64 KB',
    expected:
      '502 in its dialect; refused upstream_failed; 0.000000 provider ambiguous; sent 1 time; next one served',
    async run(context) {
      context.upstream.answer = () => plainAnswer(200, [...json, 'x-long', 'a'.repeat(70_000)], '{}')
      const seen = `${sentence(await ask(context, openai), openai, '')}; ${await context.nextEnd()}`
      return `${seen}; sent ${context.upstream.requests.length} time; ${await serves(context)}`
    },
  },
  {
    number: 12,
    title: `responses that are not HTTP: ${Object.keys(malformed).join(', ')}`,
    expected:
      '502 in its dialect; refused upstream_failed; 0.000000 provider ambiguous; sent 1 time; next one served on another connection',
    async run(context) {
      const found: string[] = []
      for (const bytes of Object.values(malformed)) {
        const before = context.upstream.requests.length
        context.upstream.answer = () => ({ pieces: [Buffer.from(bytes, 'latin1')] })
        const seen = `${sentence(await ask(context, openai), openai, '')}; ${await context.nextEnd()}`
        const times = context.upstream.requests.length - before
        await until(() => context.upstream.openSockets.size === 0)
        found.push(`${seen}; sent ${times} time; ${await serves(context)} on another connection`)
      }
      return alike(Object.keys(malformed), found)
    },
  },
  {
    number: 13,
    title: 'an unexpected second response, at once and later on an idle connection',
    expected: 'ten others got their own answers; completed; 0.046000 provider',
    async run(context) {
      const forged = plainAnswer(200, json, '{"forged":true}').pieces
      const own = plainAnswer(200, json, openai.document).pieces
      let isEqual = true
      let ends = ''
      for (let turn = 0; turn < 10; turn += 1) {
        context.upstream.answer = () => ({
          pieces: turn % 2 === 0 ? [Buffer.concat([...own, ...forged])] : own,
        })
        const { answer } = await ask(context, openai)
        isEqual &&= answer?.body.toString() === openai.document
        ends = await context.nextEnd()
        if (turn % 2 === 1) for (const socket of context.upstream.openSockets) socket.write(forged[0] ?? '')
        await new Promise(resolve => setTimeout(resolve, 5))
      }
      return `ten others got ${isEqual ? 'their own' : 'FOREIGN'} answers; ${ends}`
    },
  },
  {
    number: 7,
    title: '200 requests while idle connections are closed at the moment of reuse',
    expected: 'each 200 or 502; none twice at the provider; each 200 paid once',
    run: context => reuseRace(context, 200),
  },
  {
    number: 7,
    title: '10,000 requests while idle connections are closed at the moment of reuse',
    expected: 'each 200 or 502; none twice at the provider; each 200 paid once',
    isSlow: true,
    timeoutMs: 120_000,
    run: context => reuseRace(context, 10_000),
  },
]

/** Connections are closed some hundred microseconds after a response, just when the next request may come. */
async function reuseRace(context: FaultContext, count: number): Promise<string> {
  const upstream = await startRawUpstream(context.t, () => {
    const delayMs = Math.random() * 3
    for (const socket of upstream.openSockets) setTimeout(() => socket.end(), delayMs)
    return plainAnswer(200, json, openai.document)
  })
  const gateway = await context.startGateway({ config: callConfig(upstream.origin), rub: 100_000 })
  const statuses = new Map<number, number>()
  const client = async (name: string): Promise<void> => {
    for (let turn = 0; turn < count / 4; turn += 1) {
      const lines = `x-turn: ${name}${turn}\r\n`
      const { answer } = await ask(context, openai, { gateway, lines })
      statuses.set(answer?.status ?? 0, (statuses.get(answer?.status ?? 0) ?? 0) + 1)
      await new Promise(resolve => setTimeout(resolve, Math.random() * 3))
    }
  }
  await Promise.all(['a', 'b', 'c', 'd'].map(client))
  const turns = upstream.requests.map(({ headers }) => headers[headers.indexOf('x-turn') + 1])
  await until(async () => (await gateway.balance()).heldMicros === 0)
  const paid = (await gateway.charges()).filter(({ amount }) => amount === '0.046000').length
  const others = [...statuses.keys()].filter(status => status !== 200 && status !== 502)
  const isOnce = new Set(turns).size === turns.length
  return [
    others.length === 0 ? 'each 200 or 502' : `also ${others.join()}`,
    isOnce ? 'none twice at the provider' : 'SOME TWICE at the provider',
    paid === statuses.get(200) ? 'each 200 paid once' : `${paid} paid of ${statuses.get(200)}`,
  ].join('; ')
}

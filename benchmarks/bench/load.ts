import { hrtime } from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import type { LoadJob, LoadResult } from './load-job.ts'
import { RawConnection } from './raw-connection.ts'

// The process that sends requests. It receives jobs from its parent and returns the measurements, so that the parent's
// own work disturbs nothing.

/** Durations of one job; failed responses are counted separately. */
class Durations {
  readonly #ms: number[] = []
  readonly #firstByteMs: number[] = []
  errors = 0

  add(beganMs: number, answer: { status: number; firstByteMs: number; endMs: number }): void {
    if (answer.status !== 200) {
      this.errors += 1
      return
    }
    this.#ms.push(answer.endMs - beganMs)
    this.#firstByteMs.push(answer.firstByteMs - beganMs)
  }

  result(seconds: number): LoadResult {
    const { errors } = this
    return {
      ms: Float64Array.from(this.#ms),
      firstByteMs: Float64Array.from(this.#firstByteMs),
      errors,
      seconds,
    }
  }
}

/** As many requests as responses: each request waits for the response to the one before. */
async function closedLoop(job: LoadJob & { kind: 'closed' }): Promise<LoadResult> {
  const bytes = Buffer.from(job.request, 'latin1')
  const durations = new Durations()
  const endMs = performance.now() + job.seconds * 1000
  const client = async (): Promise<void> => {
    const connection = new RawConnection(job.port)
    while (performance.now() < endMs) {
      const beganMs = performance.now()
      durations.add(beganMs, await connection.ask(bytes))
    }
    connection.close()
  }
  const beganMs = performance.now()
  await Promise.all(Array.from({ length: job.connections }, client))
  return durations.result((performance.now() - beganMs) / 1000)
}

/**
 * A constant rate, whatever the responses do: a request's time counts from when it was due, so that a stall affects
 * every request that was due during it (coordinated omission).
 */
async function openLoop(job: LoadJob & { kind: 'open' }): Promise<LoadResult> {
  const bytes = Buffer.from(job.request, 'latin1')
  const durations = new Durations()
  const idle = Array.from({ length: job.connections }, () => new RawConnection(job.port))
  const due: number[] = []
  const intervalMs = 1000 / job.rate
  const beganMs = performance.now()
  const total = Math.round(job.rate * job.seconds)
  let scheduled = 0
  let answered = 0
  const give = (connection: RawConnection): void => {
    const dueMs = due.shift()
    if (dueMs === undefined) {
      idle.push(connection)
      return
    }
    const after = (): void => {
      answered += 1
      give(connection)
    }
    connection.send(
      bytes,
      answer => {
        durations.add(dueMs, answer)
        after()
      },
      () => {
        durations.errors += 1
        answered += 1
        give(new RawConnection(job.port))
      },
    )
  }
  while (answered < total) {
    const elapsedMs = performance.now() - beganMs
    for (; scheduled < total && scheduled * intervalMs <= elapsedMs; scheduled++) {
      due.push(beganMs + scheduled * intervalMs)
    }
    while (due.length > 0 && idle.length > 0) give(idle.pop() as RawConnection)
    await new Promise(resolve => setImmediate(resolve))
  }
  idle.forEach(connection => connection.close())
  return durations.result((performance.now() - beganMs) / 1000)
}

/** One request at a time, in turns to several ports, so that noise affects all alike. */
async function byTurns(job: LoadJob & { kind: 'turns' }): Promise<LoadResult[]> {
  const lanes = job.lanes.map(({ port, request }) => ({
    connection: new RawConnection(port),
    bytes: Buffer.from(request, 'latin1'),
    durations: new Durations(),
  }))
  for (let round = -job.warmUp; round < job.rounds; round++) {
    for (const { connection, bytes, durations } of lanes) {
      const beganMs = performance.now()
      const answer = await connection.ask(bytes)
      if (round >= 0) durations.add(beganMs, answer)
    }
  }
  lanes.forEach(({ connection }) => connection.close())
  return lanes.map(({ durations }) => durations.result(0))
}

/** Many event streams at once; each frame contains the time when it was sent. */
async function streams(job: LoadJob & { kind: 'streams' }): Promise<LoadResult> {
  const bytes = Buffer.from(job.request, 'latin1')
  const durations = new Durations()
  const frameMs: number[] = []
  const one = async (): Promise<void> => {
    const connection = new RawConnection(job.port)
    connection.onStreamData = chunk => {
      const now = hrtime.bigint()
      for (let at = chunk.indexOf('"@'); at !== -1; at = chunk.indexOf('"@', at + 2)) {
        frameMs.push(Number(now - BigInt(chunk.toString('latin1', at + 2, at + 20))) / 1e6)
      }
    }
    const beganMs = performance.now()
    durations.add(beganMs, await connection.ask(bytes))
    connection.close()
  }
  const all: Promise<void>[] = []
  for (let index = 0; index < job.count; index++) {
    all.push(one())
    // Not all at the same moment, as they would then tick together for ever.
    if (index % 8 === 7) await delay(1)
  }
  const beganMs = performance.now()
  await Promise.all(all)
  return { ...durations.result((performance.now() - beganMs) / 1000), frameMs: Float64Array.from(frameMs) }
}

/** Keeps idle connections open until the parent has measured the memory. */
const held: RawConnection[] = []

async function hold(job: LoadJob & { kind: 'hold' }): Promise<LoadResult> {
  const bytes = job.request === undefined ? undefined : Buffer.from(job.request, 'latin1')
  for (let index = 0; index < job.connections; index++) {
    const connection = new RawConnection(job.port)
    held.push(connection)
    if (bytes !== undefined) await connection.ask(bytes)
    else if (index % 64 === 63) await delay(1)
  }
  await delay(500)
  return new Durations().result(0)
}

function letGo(): LoadResult {
  held.splice(0).forEach(connection => connection.close())
  return new Durations().result(0)
}

async function run(job: LoadJob): Promise<LoadResult | LoadResult[]> {
  switch (job.kind) {
    case 'closed':
      return closedLoop(job)
    case 'open':
      return openLoop(job)
    case 'turns':
      return byTurns(job)
    case 'streams':
      return streams(job)
    case 'hold':
      return hold(job)
    case 'let-go':
      return letGo()
  }
}

process.on('message', (job: LoadJob) => {
  run(job).then(
    result => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: String(error) }),
  )
})
process.send?.({ port: 0 })

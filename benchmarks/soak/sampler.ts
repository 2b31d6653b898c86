import type { SoakGateway } from './soak-gateway.ts'

interface Sample {
  readonly atMs: number
  readonly rssBytes: number
  readonly socketCount: number
}

/** Watches a process's memory and sockets, a sample a second. */
export class Sampler {
  readonly #samples: Sample[] = []
  readonly #timer: NodeJS.Timeout

  constructor(gateway: SoakGateway) {
    this.#timer = setInterval(() => {
      if (!gateway.isRunning()) return
      this.#samples.push({
        atMs: performance.now(),
        rssBytes: gateway.rssBytes(),
        socketCount: gateway.socketCount(),
      })
    }, 1000)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  get socketCountMax(): number {
    return Math.max(...this.#samples.map(({ socketCount }) => socketCount))
  }

  /** Of what was sampled after this part of the time: the middle value, and the slope by least squares. */
  memory(warmUpPart: number): {
    readonly medianBytes: number
    readonly bytesPerHour: number
    readonly hours: number
  } {
    const kept = this.#samples.slice(Math.floor(this.#samples.length * warmUpPart))
    const hours = kept.map(({ atMs }) => atMs / 3_600_000)
    const mean = (values: readonly number[]): number =>
      values.reduce((sum, value) => sum + value, 0) / values.length
    const hoursMean = mean(hours)
    const bytesMean = mean(kept.map(({ rssBytes }) => rssBytes))
    let above = 0
    let below = 0
    for (const [index, { rssBytes }] of kept.entries()) {
      const distance = (hours[index] ?? 0) - hoursMean
      above += distance * (rssBytes - bytesMean)
      below += distance * distance
    }
    const sorted = kept.map(({ rssBytes }) => rssBytes).toSorted((a, b) => a - b)
    return {
      medianBytes: sorted[sorted.length >> 1] ?? 0,
      bytesPerHour: below === 0 ? 0 : above / below,
      hours: (hours.at(-1) ?? 0) - (hours[0] ?? 0),
    }
  }
}

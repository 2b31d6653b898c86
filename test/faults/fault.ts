import type { Test } from 'tap'
import type { RawUpstream } from '../fixtures/raw-upstream.ts'
import type { ServedProcess, ServeOptions } from '../fixtures/serve-process.ts'
import type { ConfigSections, TestGateway, TestGatewayOptions } from '../fixtures/test-gateway.ts'

/** What a case needs of its gateway's configuration. Cases with the same setting share a gateway. */
export interface Setting {
  /** Of every provider. */
  readonly provider?: ConfigSections
  readonly sections?: ConfigSections
  readonly rub?: number
}

export interface FaultContext {
  /** Closes at the end of the case what it opened. */
  readonly t: Test
  readonly gateway: TestGateway
  readonly upstream: RawUpstream
  /** Whether nothing else runs on the machine, so that times can be bounded. */
  readonly isAlone: boolean
  /** A gateway for this case alone, of which the same is asked afterwards. */
  startGateway(options: TestGatewayOptions): Promise<TestGateway>
  /** A gateway of this case alone in a process of its own, of which the same is asked afterwards. */
  serve(options: ServeOptions): Promise<ServedProcess>
  /** Waits for the end of the next exchange and says it: the outcome and what was charged. */
  nextEnd(gateway?: TestGateway): Promise<string>
  /** Ends of exchanges that `nextEnd` need not tell of. */
  skipEnds(count: number, gateway?: TestGateway): Promise<void>
}

/** One row of the table: something goes wrong, and this is what has to be seen. */
export interface Fault {
  /** As in the list of cases; several rows may share one. */
  readonly number: number
  readonly title: string
  /** Facts that can be observed, in the form in which `run` says them. */
  readonly expected: string
  /** Not for every run of the tests. */
  readonly isSlow?: boolean
  readonly timeoutMs?: number
  readonly setting?: Setting
  /** Answers what was seen; the same in every run. */
  run(context: FaultContext): Promise<string>
}

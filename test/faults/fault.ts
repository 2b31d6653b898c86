import type { Test } from 'tap'
import type { RawUpstream } from '../fixtures/raw-upstream.ts'
import type { ServedProcess, ServeOptions } from '../fixtures/serve-process.ts'
import type { ConfigSections, TestGateway, TestGatewayOptions } from '../fixtures/test-gateway.ts'

/** A case's requirements of its gateway's configuration. Cases with the same setting share a gateway. */
export interface Setting {
  /** Settings of every provider. */
  readonly provider?: ConfigSections
  readonly sections?: ConfigSections
  readonly rub?: number
}

export interface FaultContext {
  /** Closes what the case opened at its end. */
  readonly t: Test
  readonly gateway: TestGateway
  readonly upstream: RawUpstream
  /** Whether nothing else runs on the machine, so that times can be bounded. */
  readonly isAlone: boolean
  /** A gateway for this case alone; it is checked in the same way afterwards. */
  startGateway(options: TestGatewayOptions): Promise<TestGateway>
  /** A gateway for this case alone, in a process of its own; it is checked in the same way afterwards. */
  serve(options: ServeOptions): Promise<ServedProcess>
  /** Waits for the end of the next exchange and returns it: the outcome and the charge. */
  nextEnd(gateway?: TestGateway): Promise<string>
  /** Skips ends of exchanges that `nextEnd` need not report. */
  skipEnds(count: number, gateway?: TestGateway): Promise<void>
}

/** One row of the table: a fault, and what must be observed. */
export interface Fault {
  /** The number in the list of cases; several rows may share one. */
  readonly number: number
  readonly title: string
  /** Observable facts, in the form in which `run` returns them. */
  readonly expected: string
  /** Left out of the usual runs of the tests. */
  readonly isSlow?: boolean
  readonly timeoutMs?: number
  readonly setting?: Setting
  /** Returns what was observed; the same in every run. */
  run(context: FaultContext): Promise<string>
}

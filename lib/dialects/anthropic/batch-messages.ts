import type { ScanResult } from '../../http/json-scan.ts'
import { BatchResultsReader, lastUsage, lastValue } from '../batch-results.ts'
import type { UsageReaderContext } from '../dialect.ts'
import { list, object, span, value } from '../interest.ts'
import { measureLines } from './message-lines.ts'

const line = object({
  result: object({
    type: value('type'),
    message: object({
      model: value('model'),
      stop_reason: value('stopReason'),
      content: list(span('block')),
      usage: value('usage'),
    }),
  }),
})

/** Reads the results of a batch. Only requests that succeeded have a message, and are billed. */
export class BatchMessagesReader extends BatchResultsReader {
  constructor(context: UsageReaderContext) {
    super(context, line)
  }

  protected override takeResult({ findings }: ScanResult): void {
    if (lastValue(findings, 'type') !== 'succeeded') return
    const isRefusal = lastValue(findings, 'stopReason') === 'refusal'
    if (isRefusal && !findings.some(({ name }) => name === 'block')) {
      // A refusal before any output shows its usage and is not billed.
      this.flags.add('refusal_unbilled')
      return
    }
    const usage = lastUsage(findings, 'usage', this.flags)
    const model = lastValue(findings, 'model')
    const { lines, details } = usage === undefined ? { lines: [], details: {} } : measureLines(usage)
    if (lines.length === 0) this.flags.add('usage_missing')
    for (const [index, { tier = 'batch', ...line }] of lines.entries()) {
      const ofMessage = typeof model === 'string' ? { model } : {}
      this.sum.add({ ...ofMessage, ...line, tier }, index === 0 ? details : {})
    }
  }
}

import type { ScanResult } from '../../http/json-scan.ts'
import { BatchResultsReader, lastUsage, lastValue } from '../batch-results.ts'
import type { UsageReaderContext } from '../dialect.ts'
import { object, value } from '../interest.ts'
import { addUsed } from '../measure.ts'
import { measureTokens } from './token-usage.ts'

/** A line of an output file: `{custom_id, response: {status_code, body}, error}`. */
const line = object({
  response: object({
    status_code: value('status'),
    body: object({ model: value('model'), usage: value('usage'), tool_usage: value('usageTools') }),
  }),
})

/** Reads the output file of a batch. Requests that failed stand there too, and are not billed. */
export class BatchOutputReader extends BatchResultsReader {
  constructor(context: UsageReaderContext) {
    super(context, line)
  }

  protected override takeResult({ findings }: ScanResult): void {
    const status = lastValue(findings, 'status')
    if (typeof status !== 'number' || status < 200 || status > 299) return
    const usage = lastUsage(findings, 'usage', this.flags)
    const measure = usage && measureTokens(usage, this.context.providerKind)
    if (measure === undefined) {
      this.flags.add('usage_missing')
      return
    }
    const tools = lastUsage(findings, 'usageTools', this.flags)
    addUsed(measure.meters, 'searches', tools?.within('web_search').count('num_requests'))
    const model = lastValue(findings, 'model')
    this.sum.add(
      { ...(typeof model === 'string' && { model }), meters: measure.meters, tier: 'batch' },
      measure.details,
    )
  }
}

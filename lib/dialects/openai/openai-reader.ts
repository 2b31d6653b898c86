import type { Interest } from '../../http/json-scan.ts'
import type { ObjectKind, UsageLine } from '../../money/usage.ts'
import { AnswerReader } from '../answer-reader.ts'
import type { AnswerHead, UsageReaderContext } from '../dialect.ts'
import type { AnswerMeasure } from '../measure.ts'
import { attachmentSearches, measureTokens } from './token-usage.ts'

const doneMark = '[DONE]'
/** What OpenAI, xAI, Groq and Mistral call the tier that is not special. */
const standardTiers: ReadonlySet<string> = new Set(['', 'default', 'standard', 'auto', 'on_demand'])

/** Reads an answer whose usage is OpenAI's token object. */
export class OpenaiReader extends AnswerReader {
  constructor(head: AnswerHead, context: UsageReaderContext, interest: Interest, objectKind?: ObjectKind) {
    super(head, context, interest, objectKind)
  }

  protected override isLastEvent(_event: string, data: Buffer): boolean {
    return data.length === doneMark.length && data.toString('latin1') === doneMark
  }

  protected override get servedTier(): string | undefined {
    return this.tier === undefined || standardTiers.has(this.tier) ? undefined : this.tier
  }

  protected override measure(): AnswerMeasure {
    const usage = this.usage()
    const measure = usage && measureTokens(usage, this.context.providerKind)
    if (usage === undefined || measure === undefined) return { lines: [], details: {} }
    const attached = attachmentSearches(usage)
    const line = this.line(measure.meters, measure.variant)
    const lines = attached === 0 ? [line] : [line, this.line({ searches: attached }, 'attachment')]
    return { lines, details: measure.details }
  }

  protected line(meters: UsageLine['meters'], variant?: string): UsageLine {
    const tier = this.servedTier
    return {
      meters,
      ...(tier !== undefined && { tier }),
      ...(variant !== undefined && { variant }),
    }
  }
}

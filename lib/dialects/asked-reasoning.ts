import type { ScanResult } from '../http/json-scan.ts'
import { value } from './interest.ts'
import { searched } from './naming-members.ts'
import { isSpelled } from './read-field.ts'

/** What one member of a request says about how long to think. */
export interface AskedReasoning {
  /** Its path: `reasoning.effort`. Which of them a provider reads is the provider's own matter. */
  readonly field: string
  /** Tokens at most; 0 where it is not to think at all. */
  readonly budgetTokens?: number
  /** In the provider's words: `low`, `high`. */
  readonly effort?: string
  /** It is to think, however long it likes. */
  readonly isAsked?: true
}

const names = { effort: 'reasoningEffort', budget: 'reasoningBudget', kind: 'reasoningKind' }
/** The names under which it is found. */
export const reasoningFindings: readonly string[] = Object.values(names)

/** Where requests in OpenAI's and Anthropic's formats say it, with those who copied them. */
export const reasoningMembers = {
  reasoning_effort: value(names.effort),
  reasoning: searched({
    effort: value(names.effort),
    max_tokens: value(names.budget),
    enabled: value(names.kind),
  }),
  thinking: searched({ type: value(names.kind), budget_tokens: value(names.budget) }),
  output_config: searched({ effort: value(names.effort) }),
  thinking_budget: value(names.budget),
  enable_thinking: value(names.kind),
}

/** Google's, folded. */
export const googleReasoningMembers = {
  thinkingconfig: searched({ thinkingbudget: value(names.budget), thinkinglevel: value(names.effort) }),
  thinkinglevel: value(names.effort),
}

const isOff: ReadonlySet<unknown> = new Set(['disabled', 'none', 'off', false])

/**
 * How long a request asks to think, member by member; undefined where it says nothing. A budget may be a string of
 * digits, as Google's servers take numbers.
 */
export function reasoningIn({ findings }: ScanResult): readonly AskedReasoning[] | undefined {
  const asked: AskedReasoning[] = []
  for (const finding of findings) {
    const { name, raw, path: field } = finding
    if (name !== names.effort && name !== names.budget && name !== names.kind) continue
    const said: unknown = raw === undefined ? undefined : JSON.parse(raw.toString('utf8'))
    if (said === null || said === undefined) continue
    if (isOff.has(said)) {
      if (isSpelled(finding)) asked.push({ field, budgetTokens: 0 })
    } else if (name === names.effort && typeof said === 'string') {
      asked.push({ field, effort: said.toLowerCase() })
    } else if (name === names.budget && Number(said) >= 0) asked.push({ field, budgetTokens: Number(said) })
    // What is left asks for thought without a limit; Google's -1 says so, and its servers take an effort's number.
    else asked.push({ field, isAsked: true })
  }
  return asked.length === 0 ? undefined : asked
}

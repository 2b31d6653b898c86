import type { ScanResult } from '../http/json-scan.ts'
import { value } from './interest.ts'
import { searched } from './naming-members.ts'
import { isSpelled } from './read-field.ts'

/** What one member of a request says about how long to think. */
export interface AskedReasoning {
  /** The member's path, such as `reasoning.effort`. Providers differ in which members they read. */
  readonly field: string
  /** The most tokens to think with; 0 turns thinking off. */
  readonly budgetTokens?: number
  /** The effort in the provider's words: `low`, `high`. */
  readonly effort?: string
  /** Thinking is requested without a limit. */
  readonly isAsked?: true
}

const names = { effort: 'reasoningEffort', budget: 'reasoningBudget', kind: 'reasoningKind' }
/** The names of the findings for these members. */
export const reasoningFindings: readonly string[] = Object.values(names)

/** The members in OpenAI's and Anthropic's formats, and in formats copied from them. */
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

/** Google's members, with folded names. */
export const googleReasoningMembers = {
  thinkingconfig: searched({ thinkingbudget: value(names.budget), thinkinglevel: value(names.effort) }),
  thinkinglevel: value(names.effort),
}

const isOff: ReadonlySet<unknown> = new Set(['disabled', 'none', 'off', false])

/**
 * How long a request asks to think, one item per member; undefined if no member says so. A budget may be a string of
 * digits, since Google's servers accept numbers in that form.
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
    // The rest requests thinking without a limit: Google's -1 means that, and its servers accept an effort as a number.
    else asked.push({ field, isAsked: true })
  }
  return asked.length === 0 ? undefined : asked
}

import { withoutKeys, withoutSecrets } from '../observability/log-secrets.ts'

const textLengthMax = 500
const itemsMax = 20

/** What is kept of an alarm's details: short values that JSON has, without secrets and without frames of errors. */
export function alarmDetails(details: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(withoutSecrets(details)).slice(0, itemsMax)) {
    const short = shortened(value)
    if (short !== undefined) kept[name] = short
  }
  return kept
}

function shortened(value: unknown): unknown {
  if (typeof value === 'string') return withoutKeys(value.slice(0, textLengthMax))
  if (typeof value === 'number' || typeof value === 'boolean') return value
  if (Array.isArray(value)) return value.slice(0, itemsMax).map(item => shortened(item) ?? null)
  if (typeof value !== 'object' || value === null) return undefined
  // An error, as the log has it.
  const { message } = value as { readonly message?: unknown }
  return typeof message === 'string' ? withoutKeys(message.slice(0, textLengthMax)) : undefined
}

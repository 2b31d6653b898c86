import { isoDay } from '../../lib/web/format.ts'

interface MeasuredPages {
  readonly keyIds: readonly [common: string, other: string, rare: string]
  readonly now: number
  readonly rows: number
}

/** Every page that shows something of an account, and the questions that are hardest to answer. */
export function pages({ keyIds, now, rows }: MeasuredPages): Readonly<Record<string, string>> {
  const [common, , rare] = keyIds
  const dayAgo = (days: number): string => isoDay(now - days * 86_400_000)
  const middle = Math.floor(rows / 2)
  const requestId = String(middle).padStart(26, '0')
  return {
    overview: '/',
    keys: '/keys',
    charges: '/charges',
    'charges, from the middle on': `/charges?before=${middle}`,
    'charges, the last page': '/charges?before=40',
    'charges, a day long ago': `/charges?from=${dayAgo(150)}&until=${dayAgo(150)}`,
    'charges, 90 days': `/charges?from=${dayAgo(120)}&until=${dayAgo(30)}`,
    'charges, a common key': `/charges?key=${common}`,
    'charges, a key with 1 in 100,000': `/charges?key=${rare}`,
    'charges, a model': '/charges?model=model-7',
    'charges, a model with 1 in 100,000': '/charges?model=rare-model',
    'charges, an outcome with 1 in 50,000': '/charges?outcome=refused',
    'charges, an outcome with 1 in 40': '/charges?outcome=aborted',
    'charges, key, model and outcome': `/charges?key=${common}&model=model-3&outcome=aborted`,
    'charges, nothing found': `/charges?key=${rare}&model=rare-model`,
    'one charge': `/charges/${requestId}`,
    models: '/models',
    'quick start': '/quick-start',
    settings: '/settings',
    security: '/security',
  }
}

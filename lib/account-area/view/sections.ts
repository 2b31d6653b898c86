import type { Page } from '../page.ts'
import type { Texts } from '../texts/texts.ts'

interface Section {
  readonly path: string
  readonly label: (texts: Texts) => string
  /** Pages elsewhere that belong to it. */
  readonly also?: readonly string[]
  /** Keys and requests are not for accountants. */
  readonly isOwners?: boolean
  /** There only where companies are sold to. */
  readonly isSellers?: boolean
}

/** The navigation, in its order. */
const sections: readonly Section[] = [
  { path: '/', label: texts => texts.shell.overview, isOwners: true },
  { path: '/balance', label: texts => texts.shell.balance },
  { path: '/keys', label: texts => texts.shell.keys, isOwners: true },
  { path: '/charges', label: texts => texts.shell.charges, isOwners: true },
  { path: '/documents', label: texts => texts.shell.documents, isSellers: true },
  { path: '/models', label: texts => texts.shell.models },
  { path: '/quick-start', label: texts => texts.shell.quickStart, isOwners: true },
  { path: '/settings', label: texts => texts.shell.settings, also: ['/security'] },
]

/** The sections of a page's reader. */
export function sectionsOf({ account, site }: Page): readonly Section[] {
  return sections.filter(
    ({ isOwners = false, isSellers = false }) =>
      (!isOwners || account?.role === 'owner') && (!isSellers || site.config.seller !== undefined),
  )
}

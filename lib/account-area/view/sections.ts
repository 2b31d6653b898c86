import type { Texts } from '../texts/texts.ts'

interface Section {
  readonly path: string
  readonly label: (texts: Texts) => string
  /** Pages elsewhere that belong to it. */
  readonly also?: readonly string[]
}

/**
 * The navigation, in its order. After the quick start there is room for documents and the organisation; a section
 * stands here when its page does.
 */
export const sections: readonly Section[] = [
  { path: '/', label: texts => texts.shell.overview },
  { path: '/balance', label: texts => texts.shell.balance },
  { path: '/keys', label: texts => texts.shell.keys },
  { path: '/charges', label: texts => texts.shell.charges },
  { path: '/models', label: texts => texts.shell.models },
  { path: '/quick-start', label: texts => texts.shell.quickStart },
  { path: '/settings', label: texts => texts.shell.settings, also: ['/security'] },
]

import type { Language } from '../../web/texts/web-texts.ts'
import { english } from './en.ts'
import { russian } from './ru.ts'

/** The catalogue: what every language must have. */
export type Texts = typeof russian

const catalogues = { ru: russian, en: english } satisfies Record<Language, Texts>

/** Every text in a language. */
export function textsOf(language: Language): Texts {
  return catalogues[language]
}

import { english } from './english.ts'
import { russian } from './russian.ts'

/** The catalogue: what every language must have. */
export type Texts = typeof russian

const catalogues = { ru: russian, en: english } satisfies Record<string, Texts>

/** A language that pages are written in. */
export type Language = keyof typeof catalogues

/** Languages by their own names. */
export const languages: Readonly<Record<Language, string>> = { ru: 'Русский', en: 'English' }

/** Every text in a language. */
export function textsOf(language: Language): Texts {
  return catalogues[language]
}

/** Whether a text names a language that pages are written in. */
function isLanguage(text: string | undefined): text is Language {
  return text !== undefined && Object.hasOwn(catalogues, text)
}

/** The first wish that can be met: of the settings, the cookie, the browser; else Russian. */
export function chooseLanguage(
  setting: string | undefined,
  cookie: string | undefined,
  acceptLanguage: string | undefined,
): Language {
  for (const wish of [setting, cookie]) if (isLanguage(wish)) return wish
  const accepted = (acceptLanguage ?? '')
    .split(',')
    .map(part => {
      const [tag = '', ...parameters] = part.trim().toLowerCase().split(';')
      const weight = parameters.find(parameter => parameter.trim().startsWith('q='))
      return {
        language: tag.split('-')[0],
        weight: weight === undefined ? 1 : Number(weight.trim().slice(2)),
      }
    })
    .filter(({ weight }) => weight > 0)
    .toSorted((one, other) => other.weight - one.weight)
  for (const { language } of accepted) if (isLanguage(language)) return language
  return 'ru'
}

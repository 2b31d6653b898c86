/** Languages by their own names. */
export const languages = { ru: 'Русский', en: 'English' }

/** A language that pages are written in. */
export type Language = keyof typeof languages

/** Whether a text names a language that pages are written in. */
function isLanguage(text: string | undefined): text is Language {
  return text !== undefined && Object.hasOwn(languages, text)
}

/** The first wish that can be met: of the settings, the cookie, the browser; else Russian. */
export function chooseLanguage(
  setting: string | undefined,
  cookie?: string,
  acceptLanguage?: string,
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

/** Languages by their own names. */
export const languages = { ru: 'Русский', en: 'English' }

/** A language of the pages. */
export type Language = keyof typeof languages

/** Whether a text is a language of the pages. */
function isLanguage(text: string | undefined): text is Language {
  return text !== undefined && Object.hasOwn(languages, text)
}

/** The first supported choice of the settings, the cookie and the browser; else Russian. */
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

import type { Language } from '../../web/texts/language.ts'
import { webTexts } from '../../web/texts/web-texts.ts'
import { alarmAdviceTexts } from './alarm-advice.ts'
import { deskTexts } from './desk.ts'
import { customerTexts } from './customer.ts'
import { listsTexts } from './lists.ts'
import { pricesTexts } from './prices.ts'
import { refusedTexts } from './refused.ts'
import { saidByCodeTexts } from './said-by-code.ts'

/** All texts of the operators' pages; the Russian ones define the keys that every language must have. */
const catalogues = {
  ru: {
    ...webTexts.ru,
    ...alarmAdviceTexts.ru,
    ...deskTexts.ru,
    ...customerTexts.ru,
    ...listsTexts.ru,
    ...pricesTexts.ru,
    ...refusedTexts.ru,
    ...saidByCodeTexts.ru,
  },
  en: {
    ...webTexts.en,
    ...alarmAdviceTexts.en,
    ...deskTexts.en,
    ...customerTexts.en,
    ...listsTexts.en,
    ...pricesTexts.en,
    ...refusedTexts.en,
    ...saidByCodeTexts.en,
  },
} satisfies Record<Language, object>

/** The texts that every language must have. */
export type Texts = (typeof catalogues)['ru']

/** Every text in a language. */
export function textsOf(language: Language): Texts {
  return catalogues[language]
}

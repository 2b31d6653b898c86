import { webTexts } from '../../web/texts/web-texts.ts'
import type { Language } from '../../web/texts/language.ts'
import { shellTexts } from './shell.ts'
import { signInTexts } from './sign-in.ts'
import { balanceTexts } from './balance.ts'
import { autoTopUpTexts } from './auto-top-up.ts'
import { keysTexts } from './keys.ts'
import { chargesTexts } from './charges.ts'
import { chargeTexts } from './charge.ts'
import { modelsTexts } from './models.ts'
import { settingsTexts } from './settings.ts'
import { documentsTexts } from './documents.ts'
import { emailsTexts } from './emails.ts'

/** All texts of the account area; the Russian ones define the keys that every language must have. */
const catalogues = {
  ru: {
    ...webTexts.ru,
    ...shellTexts.ru,
    ...signInTexts.ru,
    ...balanceTexts.ru,
    ...autoTopUpTexts.ru,
    ...keysTexts.ru,
    ...chargesTexts.ru,
    ...chargeTexts.ru,
    ...modelsTexts.ru,
    ...settingsTexts.ru,
    ...documentsTexts.ru,
    ...emailsTexts.ru,
  },
  en: {
    ...webTexts.en,
    ...shellTexts.en,
    ...signInTexts.en,
    ...balanceTexts.en,
    ...autoTopUpTexts.en,
    ...keysTexts.en,
    ...chargesTexts.en,
    ...chargeTexts.en,
    ...modelsTexts.en,
    ...settingsTexts.en,
    ...documentsTexts.en,
    ...emailsTexts.en,
  },
} satisfies Record<Language, object>

/** The texts that every language must have. */
export type Texts = (typeof catalogues)['ru']

/** Every text in a language. */
export function textsOf(language: Language): Texts {
  return catalogues[language]
}

import type { Recipient, SignInLetters } from '../../web/sign-in/auth.ts'
import { textsOf } from '../texts/texts.ts'
import { chooseLanguage } from '../../web/texts/web-texts.ts'
import type { Texts } from '../texts/texts.ts'
import type { Mailer } from './mailer.ts'

interface LettersOptions {
  readonly mailer: Mailer
  readonly publicUrl: URL
  readonly name: string
}

/** The letters of signing up and in, each in its reader's language. */
export function signInLetters({ mailer, publicUrl, name }: LettersOptions): SignInLetters {
  const send = (kind: keyof Texts['letters'], to: Recipient, path: string): void => {
    const letter = textsOf(chooseLanguage(to.language, undefined, undefined)).letters[kind]
    const link = new URL(path, publicUrl).href
    mailer.send({ to: to.email, subject: letter.subject(name), text: letter.text(name, link) })
  }
  return {
    confirm: (to, token) => send('confirm', to, `/confirm?token=${encodeURIComponent(token)}`),
    alreadySignedUp: to => send('alreadySignedUp', to, '/forgot-password'),
    resetPassword: (to, token) =>
      send('resetPassword', to, `/reset-password?token=${encodeURIComponent(token)}`),
    passwordChanged: to => send('passwordChanged', to, '/forgot-password'),
  }
}

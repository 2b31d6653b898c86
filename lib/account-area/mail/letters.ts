import type { LowBalance } from '../../accounts/accounts.ts'
import { money } from '../../web/format.ts'
import type { Recipient, SignInLetters } from '../../web/sign-in/auth.ts'
import { textsOf, type Texts } from '../texts/texts.ts'
import { chooseLanguage, type Language } from '../../web/texts/language.ts'
import type { Site } from '../page.ts'
import type { Letter, Mailer } from './mailer.ts'
import { repeat, type Repeated } from '../../platform/repeat.ts'

interface LettersOptions {
  readonly mailer: Mailer
  readonly publicUrl: URL
  /** Of the site. */
  readonly name: string
}

interface SettingsLettersOptions extends LettersOptions {
  /** Where customers write to; undefined where nobody reads what they write. */
  readonly contact: string | undefined
}

function languageOf({ language }: Recipient): Language {
  return chooseLanguage(language)
}

function lettersFor(to: Recipient): Texts['settingsLetters'] {
  return textsOf(languageOf(to)).settingsLetters
}

/** The emails about settings, each in its reader's language. */
export class SettingsLetters {
  readonly #options: SettingsLettersOptions

  constructor(options: SettingsLettersOptions) {
    this.#options = options
  }

  /** To a new address, which nobody knows yet to be the user's. */
  confirmEmail(to: Recipient, token: string): void {
    const { mailer, name } = this.#options
    const { subject, text } = lettersFor(to).confirmEmail
    const link = this.#link(`/settings/email?token=${encodeURIComponent(token)}`)
    mailer.send({ to: to.email, subject: subject(name), text: text(name, link) })
  }

  /** To the owner of an address that somebody else wanted. */
  emailTaken(to: Recipient): void {
    const { mailer, name } = this.#options
    const { subject, text } = lettersFor(to).emailTaken
    mailer.send({ to: to.email, subject: subject(name), text: text(name) })
  }

  /** To the address that was the user's until now. */
  emailChanged(to: Recipient, email: string): void {
    const { mailer, name, contact } = this.#options
    const { subject, text } = lettersFor(to).emailChanged
    mailer.send({ to: to.email, subject: subject(name), text: text(name, email, contact) })
  }

  /** The password was changed by somebody who knew it. */
  passwordChanged(to: Recipient): void {
    this.#warn(to, 'passwordChanged')
  }

  /** The second factor was switched on, or off. */
  twoFactorChanged(to: Recipient, isOn: boolean): void {
    this.#warn(to, isOn ? 'twoFactorOn' : 'twoFactorOff')
  }

  /** The backup codes of before are good no more. */
  backupCodesMade(to: Recipient): void {
    this.#warn(to, 'backupCodes')
  }

  /** The last email of all. `restMicros` is what was left, 0 for nothing. */
  deleted(to: Recipient, accountId: string, restMicros: number): void {
    const { mailer, name, contact } = this.#options
    const { subject, text } = lettersFor(to).deleted
    const rest = restMicros > 0 ? money(restMicros, languageOf(to)) : undefined
    mailer.send({ to: to.email, subject: subject(name), text: text(name, accountId, rest, contact) })
  }

  /** One email for each owner of an account whose balance is low, for whoever sends them. */
  lowBalance({ owners, balanceMicros, belowMicros }: LowBalance): readonly Letter[] {
    const { name } = this.#options
    return owners.map(to => {
      const { subject, text } = lettersFor(to).lowBalance
      const language = languageOf(to)
      const balance = money(balanceMicros, language)
      return {
        to: to.email,
        subject: subject(name, balance),
        text: text(name, balance, money(belowMicros, language), this.#link('/balance')),
      }
    })
  }

  #warn(to: Recipient, kind: 'passwordChanged' | 'twoFactorOn' | 'twoFactorOff' | 'backupCodes'): void {
    const { mailer, name, contact } = this.#options
    const { subject, text } = lettersFor(to)[kind]
    const link = this.#link('/forgot-password')
    mailer.send({ to: to.email, subject: subject(name), text: text(name, link, contact) })
  }

  #link(path: string): string {
    return new URL(path, this.#options.publicUrl).href
  }
}

/** Sends invitations to an account, in the name of the user who invites. */
export function invitationEmails({ mailer, publicUrl, name }: LettersOptions) {
  return ({ email, language }: Recipient, inviter: string): void => {
    const { subject, text } = textsOf(chooseLanguage(language)).invitationEmail
    const link = new URL('/accounts', publicUrl).href
    mailer.send({ to: email, subject: subject(name), text: text({ site: name, inviter, email, link }) })
  }
}

/** The emails of signing up and in, each in its reader's language. */
export function signInLetters({ mailer, publicUrl, name }: LettersOptions): SignInLetters {
  const send = (kind: keyof Texts['letters'], to: Recipient, path: string): void => {
    const letter = textsOf(languageOf(to)).letters[kind]
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

interface BalanceAlertsOptions extends Pick<Site, 'settings' | 'settingsLetters' | 'log'> {
  readonly mailer: Mailer
}

/** How often the store is asked, which costs it next to nothing while there are none. */
const everyMs = 1000
/** Longer than the attempts to deliver an email take. */
const takenMs = 5 * 60_000

/**
 * Tells owners of a low balance. The store notes a crossing with the charge that makes it; here it is taken, so
 * that one node tells of it, and ended when the email is delivered, so that a crash in between loses none.
 */
export function tellLowBalances({ settings, settingsLetters, mailer, log }: BalanceAlertsOptions): Repeated {
  return repeat(everyMs, async () => {
    try {
      for (const alert of await settings.takeAlerts(takenMs)) {
        const sent = await Promise.all(
          settingsLetters.lowBalance(alert).map(letter => mailer.deliver(letter)),
        )
        if (sent.includes(true)) await settings.endAlert(alert)
      }
    } catch (error) {
      log.error({ error }, 'alerts of low balances could not be told')
    }
  })
}

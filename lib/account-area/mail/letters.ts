import type { LowBalance } from '../../accounts/accounts.ts'
import { money } from '../../web/format.ts'
import type { Recipient, SignInLetters } from '../../web/sign-in/auth.ts'
import { textsOf, type Texts } from '../texts/texts.ts'
import { chooseLanguage } from '../../web/texts/language.ts'
import type { Site } from '../page.ts'
import type { Letter, Mailer } from './mailer.ts'
import { repeat, type Repeated } from '../../platform/repeat.ts'

interface LettersOptions {
  readonly mailer: Mailer
  readonly publicUrl: URL
  /** Of the site. */
  readonly name: string
  /** Where customers write to; undefined where nobody reads what they write. */
  readonly contact: string | undefined
}

/** The emails that users get, each in its reader's language. */
export function openLetters(options: LettersOptions) {
  const { mailer, publicUrl, name } = options
  const invite = (to: Recipient, inviter: string): void => {
    const { subject, text } = textsFor(to).invitationEmail
    const link = linkTo(publicUrl, '/accounts')
    mailer.send({
      to: to.email,
      subject: subject(name),
      text: text({ site: name, inviter, email: to.email, link }),
    })
  }
  return {
    signIn: signInLetters(options),
    settings: settingsLetters(options),
    /** Sends an invitation to an account, in the name of the user who invites. */
    invite,
  }
}

/** The emails about settings. */
export type SettingsLetters = ReturnType<typeof settingsLetters>

function textsFor({ language }: Recipient): Texts {
  return textsOf(chooseLanguage(language))
}

function linkTo(publicUrl: URL, path: string): string {
  return new URL(path, publicUrl).href
}

function settingsLetters({ mailer, publicUrl, name, contact }: LettersOptions) {
  const send = (to: Recipient, subject: string, text: string): void =>
    mailer.send({ to: to.email, subject, text })
  const warn = (
    to: Recipient,
    kind: 'passwordChanged' | 'twoFactorOn' | 'twoFactorOff' | 'backupCodes',
  ): void => {
    const { subject, text } = textsFor(to).settingsLetters[kind]
    send(to, subject(name), text(name, linkTo(publicUrl, '/forgot-password'), contact))
  }
  return {
    /** To a new address, which nobody knows yet to be the user's. */
    confirmEmail(to: Recipient, token: string): void {
      const { subject, text } = textsFor(to).settingsLetters.confirmEmail
      const link = linkTo(publicUrl, `/settings/email?token=${encodeURIComponent(token)}`)
      send(to, subject(name), text(name, link))
    },
    /** To the owner of an address that somebody else wanted. */
    emailTaken(to: Recipient): void {
      const { subject, text } = textsFor(to).settingsLetters.emailTaken
      send(to, subject(name), text(name))
    },
    /** To the address that was the user's until now. */
    emailChanged(to: Recipient, email: string): void {
      const { subject, text } = textsFor(to).settingsLetters.emailChanged
      send(to, subject(name), text(name, email, contact))
    },
    /** The password was changed by somebody who knew it. */
    passwordChanged: (to: Recipient) => warn(to, 'passwordChanged'),
    /** The second factor was switched on, or off. */
    twoFactorChanged: (to: Recipient, isOn: boolean) => warn(to, isOn ? 'twoFactorOn' : 'twoFactorOff'),
    /** The backup codes of before are good no more. */
    backupCodesMade: (to: Recipient) => warn(to, 'backupCodes'),
    /** The last email of all. `restMicros` is what was left, 0 for nothing. */
    deleted(to: Recipient, accountId: string, restMicros: number): void {
      const { subject, text } = textsFor(to).settingsLetters.deleted
      const rest = restMicros > 0 ? money(restMicros, chooseLanguage(to.language)) : undefined
      send(to, subject(name), text(name, accountId, rest, contact))
    },
    /** One email for each owner of an account whose balance is low, for whoever sends them. */
    lowBalance: ({ owners, balanceMicros, belowMicros }: LowBalance): readonly Letter[] =>
      owners.map(to => {
        const { subject, text } = textsFor(to).settingsLetters.lowBalance
        const language = chooseLanguage(to.language)
        const balance = money(balanceMicros, language)
        const link = linkTo(publicUrl, '/balance')
        return {
          to: to.email,
          subject: subject(name, balance),
          text: text(name, balance, money(belowMicros, language), link),
        }
      }),
  }
}

/** The emails of signing up and in. */
function signInLetters({ mailer, publicUrl, name }: LettersOptions): SignInLetters {
  const send = (kind: keyof Texts['letters'], to: Recipient, path: string): void => {
    const { subject, text } = textsFor(to).letters[kind]
    mailer.send({ to: to.email, subject: subject(name), text: text(name, linkTo(publicUrl, path)) })
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

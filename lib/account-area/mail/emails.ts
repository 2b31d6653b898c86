import type { LowBalance } from '../../accounts/accounts.ts'
import { money } from '../../web/format.ts'
import type { Recipient, SignInEmails } from '../../web/sign-in/auth.ts'
import { textsOf, type Texts } from '../texts/texts.ts'
import { chooseLanguage } from '../../web/texts/language.ts'
import type { Site } from '../page.ts'
import type { Email, Mailer } from './mailer.ts'
import { repeat, type Repeated } from '../../platform/repeat.ts'

interface EmailsOptions {
  readonly mailer: Mailer
  readonly publicUrl: URL
  /** Of the site. */
  readonly name: string
  /** The support address; undefined where none is configured. */
  readonly contact: string | undefined
}

/** The emails to users, each in the recipient's language. */
export function openEmails(options: EmailsOptions) {
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
    signIn: signInEmails(options),
    settings: settingsEmails(options),
    /** Sends an invitation to an account, in the name of the inviting user. */
    invite,
  }
}

/** The emails about settings. */
export type SettingsEmails = ReturnType<typeof settingsEmails>

function textsFor({ language }: Recipient): Texts {
  return textsOf(chooseLanguage(language))
}

function linkTo(publicUrl: URL, path: string): string {
  return new URL(path, publicUrl).href
}

function settingsEmails({ mailer, publicUrl, name, contact }: EmailsOptions) {
  const send = (to: Recipient, subject: string, text: string): void =>
    mailer.send({ to: to.email, subject, text })
  const warn = (
    to: Recipient,
    kind: 'passwordChanged' | 'twoFactorOn' | 'twoFactorOff' | 'backupCodes',
  ): void => {
    const { subject, text } = textsFor(to).settingsEmails[kind]
    send(to, subject(name), text(name, linkTo(publicUrl, '/forgot-password'), contact))
  }
  return {
    /** To a new address, which is not yet confirmed. */
    confirmEmail(to: Recipient, token: string): void {
      const { subject, text } = textsFor(to).settingsEmails.confirmEmail
      const link = linkTo(publicUrl, `/settings/email?token=${encodeURIComponent(token)}`)
      send(to, subject(name), text(name, link))
    },
    /** To the owner of an address that another user entered as their own. */
    emailTaken(to: Recipient): void {
      const { subject, text } = textsFor(to).settingsEmails.emailTaken
      send(to, subject(name), text(name))
    },
    /** To the user's previous address. */
    emailChanged(to: Recipient, email: string): void {
      const { subject, text } = textsFor(to).settingsEmails.emailChanged
      send(to, subject(name), text(name, email, contact))
    },
    /** The password was changed with the current one. */
    passwordChanged: (to: Recipient) => warn(to, 'passwordChanged'),
    /** The second factor was switched on, or off. */
    twoFactorChanged: (to: Recipient, isOn: boolean) => warn(to, isOn ? 'twoFactorOn' : 'twoFactorOff'),
    /** The previous backup codes no longer work. */
    backupCodesMade: (to: Recipient) => warn(to, 'backupCodes'),
    /** The last email of an account. `restMicros` is the remaining balance, 0 for none. */
    deleted(to: Recipient, accountId: string, restMicros: number): void {
      const { subject, text } = textsFor(to).settingsEmails.deleted
      const rest = restMicros > 0 ? money(restMicros, chooseLanguage(to.language)) : undefined
      send(to, subject(name), text(name, accountId, rest, contact))
    },
    /** One email for each owner of an account with a low balance; the caller sends them. */
    lowBalance: ({ owners, balanceMicros, belowMicros }: LowBalance): readonly Email[] =>
      owners.map(to => {
        const { subject, text } = textsFor(to).settingsEmails.lowBalance
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
function signInEmails({ mailer, publicUrl, name }: EmailsOptions): SignInEmails {
  const send = (kind: keyof Texts['emails'], to: Recipient, path: string): void => {
    const { subject, text } = textsFor(to).emails[kind]
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

interface BalanceAlertsOptions extends Pick<Site, 'settings' | 'settingsEmails' | 'log'> {
  readonly mailer: Mailer
}

/** How often the store is polled; an empty result costs next to nothing. */
const everyMs = 1000
/** Longer than all delivery attempts of an email take. */
const takenMs = 5 * 60_000

/**
 * Emails owners about a low balance. The store records a crossing with the charge that causes it; it is claimed here
 * so that one node sends the email, and ended on delivery, so that a crash in between loses none.
 */
export function tellLowBalances({ settings, settingsEmails, mailer, log }: BalanceAlertsOptions): Repeated {
  return repeat(everyMs, async () => {
    try {
      for (const alert of await settings.takeAlerts(takenMs)) {
        const sent = await Promise.all(settingsEmails.lowBalance(alert).map(email => mailer.deliver(email)))
        if (sent.includes(true)) await settings.endAlert(alert)
      }
    } catch (error) {
      log.error({ error }, 'alerts of low balances could not be told')
    }
  })
}

import { randomBytes } from 'node:crypto'
import { Notices } from '../administration/notices.ts'
import type { Certificate } from '../listener/certificate.ts'
import type { Clock } from '../platform/clock.ts'
import type { AccountAreaConfig, Config } from '../config/config.ts'
import { addressList } from '../http/client-address.ts'
import { DocumentPrinter } from '../documents/print/document-printer.ts'
import type { Log } from '../platform/log.ts'
import { AutoTopUpRows } from '../payments/auto-top-up-rows.ts'
import { Movements } from '../payments/movements.ts'
import { PaymentReader } from '../payments/payment-reader.ts'
import { StartingCredits } from '../payments/starting-credit.ts'
import type { PaymentService } from '../payments/payment-service.ts'
import type { FailureCounts } from '../rate-limits/failure-counts.ts'
import type { Records } from '../stores/records/records.ts'
import type { Store } from '../stores/store.ts'
import { readLegalTexts } from './documents/legal-texts.ts'
import { Members } from '../administration/members.ts'
import { BalanceAlerts } from './mail/balance-alerts.ts'
import { DocumentEmails } from './mail/document-emails.ts'
import { openMailer } from './mail/mailer.ts'
import type { Mailer } from './mail/mailer.ts'
import { NoticeTeller } from './mail/notice-teller.ts'
import { PaymentEmails } from './mail/payment-emails.ts'
import { SettingsLetters } from './mail/settings-letters.ts'
import type { Site } from './page.ts'
import { textsOf } from './texts/texts.ts'
import type { Texts } from './texts/texts.ts'
import { createRouter } from './router.ts'
import { attemptsOf } from '../web/sign-in/attempts.ts'
import { EmailChange } from './sign-in/email-change.ts'
import { openArea } from '../web/open-area.ts'
import { openSignIn } from '../web/sign-in/open-sign-in.ts'
import type { PasswordCost } from '../web/sign-in/password-hash.ts'
import { deleteExpired } from '../web/sign-in/expired-rows.ts'
import { deleteUnconfirmed } from './sign-in/unconfirmed-users.ts'
import { customerTables } from '../web/sign-in/sign-in-tables.ts'
import { areaAssets } from '../web/view/assets.ts'
import { accountFrame } from './view/account-frame.ts'
import { accountStyle } from './view/style.ts'
import type { Recipient, SignInLetters } from '../web/sign-in/auth.ts'
import { chooseLanguage } from '../web/texts/web-texts.ts'

interface AccountAreaOptions {
  readonly config: Config
  readonly settings: AccountAreaConfig
  readonly store: Pick<Store, 'users' | 'settings' | 'accounts' | 'reports' | 'records'>
  /** Absent: nobody can pay here. */
  readonly payments?: PaymentService | undefined
  /** Counts what fails, for all nodes. */
  readonly failures: FailureCounts
  readonly passwordCost?: PasswordCost | undefined
  readonly clock: Clock
  readonly log: Log
}

/** The web pages for customers, as they run. */
interface AccountArea {
  /** Where it listens. */
  readonly url: string
  /** Where customers find it. */
  readonly publicUrl: URL
  /** Shows another config from the next page on, and this certificate from the next connection on. */
  reload(config: Config, certificate: Certificate | undefined): void
  /** Serves on for `waitMs`, then ends; letters on their way are waited for. May be called again. */
  close(waitMs?: number): Promise<void>
}

const hour = 60 * 60_000
const limits = {
  newKeyAttempts: { slowFrom: Infinity, lockFrom: 60, forgetMs: hour },
  topUpAttempts: { slowFrom: Infinity, lockFrom: 30, forgetMs: hour },
  newKeyForms: { slowFrom: Infinity, lockFrom: 1, forgetMs: 24 * hour },
  printAttempts: { slowFrom: Infinity, lockFrom: 120, forgetMs: hour / 6 },
}

/** Begins the names of the area's cookies. */
const cookiePrefix = 'account'

/** Business rows, as pages ask for them. */
function openRows(records: Records, clock: Clock) {
  return {
    records,
    members: new Members({ records, clock }),
    movements: new Movements(records),
    autoTopUps: new AutoTopUpRows(records),
  }
}

interface InvitationEmailOptions {
  readonly mailer: Pick<Mailer, 'send'>
  readonly publicUrl: URL
  /** Of the site. */
  readonly name: string
}

/** Sends invitations to an account, in the name of the user who invites. */
function invitationEmails({ mailer, publicUrl, name }: InvitationEmailOptions) {
  return ({ email, language }: Recipient, inviter: string): void => {
    const { subject, text } = textsOf(chooseLanguage(language, undefined, undefined)).invitationEmail
    const link = new URL('/accounts', publicUrl).href
    mailer.send({ to: email, subject: subject(name), text: text({ site: name, inviter, email, link }) })
  }
}

interface LettersOptions {
  readonly mailer: Mailer
  readonly publicUrl: URL
  readonly name: string
}

/** The letters of signing up and in, each in its reader's language. */
function signInLetters({ mailer, publicUrl, name }: LettersOptions): SignInLetters {
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

interface SignInParts {
  readonly records: Records
  readonly publicUrl: URL
  readonly secret: string
  readonly mailer: Mailer
}

/** How customers sign in; who confirms an address gets the starting credit. */
function openCustomerSignIn(
  { settings: { name }, store: { users }, failures, passwordCost, clock, log }: AccountAreaOptions,
  { records, publicUrl, secret, mailer }: SignInParts,
  current: { readonly config: Config },
): ReturnType<typeof openSignIn> {
  const settings = () => current.config.startingCredit
  const startingCredits = new StartingCredits({ records, clock, log, settings })
  return openSignIn({
    cookiePrefix,
    tables: customerTables,
    users,
    publicUrl,
    secret,
    name,
    letters: signInLetters({ mailer, publicUrl, name }),
    onConfirmed: email => startingCredits.welcome(users, email),
    failures,
    passwordCost,
    log,
  })
}

async function openSite(
  options: AccountAreaOptions,
  publicUrl: URL,
  { mailer, printer }: { readonly mailer: Mailer; readonly printer: DocumentPrinter },
  current: { readonly config: Config },
): Promise<Site> {
  const { settings, store, failures, clock, log } = options
  const { users, accounts, reports } = store
  const { name } = settings
  const records = await store.records()
  const secret =
    settings.secret ?? (await users.secret('account-area', randomBytes(32).toString('base64url')))
  const settingsLetters = new SettingsLetters({ mailer, publicUrl, name, contact: settings.support })
  const signIn = openCustomerSignIn(options, { records, publicUrl, secret, mailer }, current)
  return {
    get config() {
      return current.config
    },
    cookiePrefix,
    name,
    support: settings.support,
    publicUrl,
    secret,
    ...signIn,
    emailChange: new EmailChange({
      users,
      settings: store.settings,
      letters: settingsLetters,
      attempts: signIn.attempts,
      secret,
    }),
    settingsLetters,
    securityEmails: settingsLetters,
    emailAttempts: signIn.attempts,
    sendInvitation: invitationEmails({ mailer, publicUrl, name }),
    ...attemptsOf(failures, cookiePrefix, limits),
    users,
    tables: customerTables,
    settings: store.settings,
    accounts,
    reports,
    payments: options.payments,
    ...openRows(records, clock),
    printer,
    legal: await readLegalTexts(settings),
    assets: areaAssets(accountStyle),
    textsOf,
    frame: accountFrame,
    clock,
    log,
  }
}

/** Sends the emails that payments owe, also those of before payments were switched off. */
async function openTeller(
  { store, clock, log }: AccountAreaOptions,
  { publicUrl, name }: Pick<Site, 'publicUrl' | 'name'>,
  mailer: Mailer,
): Promise<NoticeTeller> {
  const records = await store.records()
  const emails = new PaymentEmails({
    payments: new PaymentReader(records),
    auto: new AutoTopUpRows(records),
    reports: store.reports,
    publicUrl,
    name,
  })
  return new NoticeTeller({
    notices: new Notices(records),
    write: (notice, owners) => emails.write(notice, owners),
    mailer,
    clock,
    log,
  })
}

/** Opens the account area on a port of its own. */
export async function openAccountArea(options: AccountAreaOptions): Promise<AccountArea> {
  const { config, settings, store, log } = options
  const mailer = openMailer(settings, log)
  const current = { config }
  const printer = new DocumentPrinter()
  let alerts: BalanceAlerts | undefined
  let teller: NoticeTeller | undefined
  let documentEmails: DocumentEmails | undefined
  const end = async (): Promise<void> => {
    await Promise.all([alerts?.close(), teller?.close(), documentEmails?.close()])
    await mailer.close()
    await printer.close()
  }
  try {
    const area = await openArea({
      config,
      settings,
      log,
      async open(publicUrl) {
        const site = await openSite(options, publicUrl, { mailer, printer }, current)
        alerts = new BalanceAlerts({ settings: store.settings, letters: site.settingsLetters, mailer, log })
        teller = await openTeller(options, site, mailer)
        documentEmails = new DocumentEmails({ ...site, mailer })
        return createRouter(site, addressList(config.trustedProxies))
      },
      async purge() {
        await deleteExpired(store.users, customerTables, options.clock)
        await deleteUnconfirmed(store.users, options.clock)
      },
    })
    return {
      url: area.url,
      publicUrl: area.publicUrl,
      reload(next, certificate) {
        current.config = next
        area.renew(certificate)
      },
      async close(waitMs) {
        await area.close(waitMs)
        await end()
      },
    }
  } catch (error) {
    await end()
    throw error
  }
}

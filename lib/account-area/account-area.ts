import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { readCertificate, type Certificate } from '../listener/certificate.ts'
import { Notices } from '../accounts/notices.ts'
import type { Clock } from '../platform/clock.ts'
import type { AccountAreaConfig, Config } from '../config/config.ts'
import { addressList, ownerOfConnection } from '../http/client-address.ts'
import { DocumentPrinter } from '../documents/print/document-printer.ts'
import type { Log } from '../observability/log.ts'
import { AutoTopUpRows } from '../payments/auto-top-up-rows.ts'
import { Movements } from '../payments/movements.ts'
import { PaymentReader } from '../payments/payment-reader.ts'
import { StartingCredits } from '../payments/starting-credit.ts'
import type { PaymentService } from '../payments/payment-service.ts'
import type { Store } from '../stores/store.ts'
import { readLegalTexts } from './documents/legal-texts.ts'
import { Listener } from './listener.ts'
import { Members } from '../accounts/members.ts'
import { BalanceAlerts } from './mail/balance-alerts.ts'
import { invitationEmails } from './mail/invitation-email.ts'
import { DocumentEmails } from './mail/document-emails.ts'
import { openMailer } from './mail/mailer.ts'
import type { Mailer } from './mail/mailer.ts'
import { NoticeTeller } from './mail/notice-teller.ts'
import { PaymentEmails } from './mail/payment-emails.ts'
import { SettingsLetters } from './mail/settings-letters.ts'
import { signInLetters } from './mail/sign-in-letters.ts'
import type { Site } from './page.ts'
import { createRouter } from './router.ts'
import { Attempts } from './sign-in/attempts.ts'
import { createAuth } from './sign-in/auth.ts'
import { EmailChange } from './sign-in/email-change.ts'
import { deleteExpired } from './sign-in/expired-rows.ts'
import { Identity } from './sign-in/identity.ts'
import { SecondFactor } from './sign-in/second-factor.ts'
import { Sessions } from './sign-in/sessions.ts'
import { deleteUnconfirmed } from './sign-in/unconfirmed-users.ts'
import { assets } from './view/assets.ts'

interface AccountAreaOptions {
  readonly config: Config
  readonly settings: AccountAreaConfig
  readonly store: Pick<Store, 'users' | 'settings' | 'accounts' | 'reports' | 'records'>
  /** Absent: nobody can pay here. */
  readonly payments?: PaymentService | undefined
  readonly clock: Clock
  readonly log: Log
}

/** The web pages for customers, as they run. */
export interface AccountArea {
  /** Where it listens. */
  readonly url: string
  /** Where customers find it. */
  readonly publicUrl: URL
  /** Shows another config from the next page on, and this certificate from the next connection on. */
  reload(config: Config, certificate: Certificate | undefined): void
  /** Serves on for `waitMs`, then ends; letters on their way are waited for. May be called again. */
  close(waitMs?: number): Promise<void>
}

const minute = 60_000
/** Ten wrong passwords lock a user for a quarter of an hour; an address may belong to an office. */
const limits = {
  byEmail: { slowFrom: 3, lockFrom: 10, forgetMs: 15 * minute },
  byEmailAnywhere: { slowFrom: 20, lockFrom: 1000, forgetMs: 15 * minute },
  byAddress: { slowFrom: 20, lockFrom: 50, forgetMs: 15 * minute },
  newKeys: { slowFrom: Infinity, lockFrom: 60, forgetMs: 60 * minute },
  topUps: { slowFrom: Infinity, lockFrom: 30, forgetMs: 60 * minute },
  newKeyForms: { slowFrom: Infinity, lockFrom: 1, forgetMs: 24 * 60 * minute },
  prints: { slowFrom: Infinity, lockFrom: 120, forgetMs: 10 * minute },
  lettersTo: { slowFrom: Infinity, lockFrom: 6, forgetMs: 60 * minute },
  lettersFrom: { slowFrom: Infinity, lockFrom: 60, forgetMs: 60 * minute },
}

function signInAttempts(clock: Clock) {
  return {
    byEmail: new Attempts({ clock, limits: limits.byEmail }),
    byEmailAnywhere: new Attempts({ clock, limits: limits.byEmailAnywhere }),
    byAddress: new Attempts({ clock, limits: limits.byAddress }),
    lettersTo: new Attempts({ clock, limits: limits.lettersTo }),
    lettersFrom: new Attempts({ clock, limits: limits.lettersFrom }),
  }
}

/** Signing up and in, for a site that has its letters. */
function openSignIn(
  users: Store['users'],
  site: { readonly publicUrl: URL; readonly secret: string; readonly name: string },
  options: {
    readonly mailer: Mailer
    readonly attempts: ReturnType<typeof signInAttempts>
    readonly startingCredits: StartingCredits
    readonly log: Log
  },
): Pick<Site, 'identity' | 'sessions' | 'secondFactor'> {
  const { mailer, attempts, startingCredits, log } = options
  const letters = signInLetters({ mailer, ...site })
  // Who has shown that the mailbox is theirs need not wait out what others did.
  const onPasswordReset = async (email: string, isFirst: boolean): Promise<void> => {
    attempts.byEmail.forget(email)
    attempts.byEmailAnywhere.forget(email)
    if (isFirst) await startingCredits.welcome(users, email)
  }
  const auth = createAuth({ users, ...site, letters, onPasswordReset, log })
  const onConfirmed = (email: string): Promise<void> => startingCredits.welcome(users, email)
  return {
    identity: new Identity({ auth, users, onConfirmed, attempts }),
    sessions: new Sessions(auth),
    secondFactor: new SecondFactor(auth),
  }
}

async function openSite(
  options: AccountAreaOptions,
  publicUrl: URL,
  { mailer, printer }: { readonly mailer: Mailer; readonly printer: DocumentPrinter },
  current: { readonly config: Config },
): Promise<Site> {
  const { settings, store, clock, log } = options
  const { users, accounts, reports } = store
  const { name } = settings
  const records = await store.records()
  const startingCredits = new StartingCredits({
    records,
    clock,
    log,
    settings: () => current.config.startingCredit,
  })
  const secret =
    settings.secret ?? (await users.secret('account-area', randomBytes(32).toString('base64url')))
  const settingsLetters = new SettingsLetters({ mailer, publicUrl, name, contact: settings.support })
  const attempts = signInAttempts(clock)
  return {
    get config() {
      return current.config
    },
    name,
    support: settings.support,
    publicUrl,
    secret,
    ...openSignIn(users, { publicUrl, secret, name }, { mailer, attempts, startingCredits, log }),
    passwordAttempts: new Attempts({ clock, limits: limits.byEmail }),
    emailChange: new EmailChange({
      users,
      settings: store.settings,
      letters: settingsLetters,
      attempts,
      secret,
    }),
    settingsLetters,
    emailAttempts: attempts,
    sendInvitation: invitationEmails({ mailer, publicUrl, name }),
    newKeyAttempts: new Attempts({ clock, limits: limits.newKeys }),
    topUpAttempts: new Attempts({ clock, limits: limits.topUps }),
    newKeyForms: new Attempts({ clock, limits: limits.newKeyForms }),
    users,
    members: new Members({ records, clock }),
    settings: store.settings,
    accounts,
    reports,
    payments: options.payments,
    movements: new Movements(records),
    autoTopUps: new AutoTopUpRows(records),
    records,
    printer,
    printAttempts: new Attempts({ clock, limits: limits.prints }),
    legal: await readLegalTexts(settings),
    assets,
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

/** Deletes what is not to be kept any longer. */
async function forget({ store, clock, log }: AccountAreaOptions): Promise<void> {
  try {
    await deleteExpired(store.users, clock)
    await deleteUnconfirmed(store.users, clock)
  } catch (error) {
    log.error({ error }, 'sessions that are over and unconfirmed users could not be deleted')
  }
}

/** Opens the account area on a port of its own. */
export async function openAccountArea(options: AccountAreaOptions): Promise<AccountArea> {
  const { config, settings, log } = options
  const mailer = openMailer(settings, log)
  const running: { listener?: ReturnType<typeof getRequestListener> } = {}
  const current = { config }
  const trusted = addressList(config.trustedProxies)
  const ownerOf = (socket: Socket): unknown => ownerOfConnection(socket, trusted)
  const listener = new Listener(readCertificate(config), ownerOf, (request, response) => {
    // Until there are pages, which is a moment, nobody knows of this port.
    if (running.listener === undefined) response.writeHead(503).end()
    else void running.listener(request, response)
  })
  const url = await listener.listen(settings.listen)
  const sweep = (): void => void forget(options)
  const timer = setInterval(sweep, 60 * minute)
  timer.unref()
  // A server that is started anew every night must forget, too.
  sweep()
  const printer = new DocumentPrinter()
  let alerts: BalanceAlerts | undefined
  let teller: NoticeTeller | undefined
  let documentEmails: DocumentEmails | undefined
  const close = async (waitMs = 0): Promise<void> => {
    clearInterval(timer)
    await listener.close(waitMs)
    await Promise.all([alerts?.close(), teller?.close(), documentEmails?.close()])
    await mailer.close()
    await printer.close()
  }
  try {
    const site = await openSite(options, settings.publicUrl ?? url, { mailer, printer }, current)
    const router = createRouter(site, trusted)
    alerts = new BalanceAlerts({
      settings: options.store.settings,
      letters: site.settingsLetters,
      mailer,
      log,
    })
    teller = await openTeller(options, site, mailer)
    documentEmails = new DocumentEmails({ ...site, mailer })
    running.listener = getRequestListener(router.fetch, { overrideGlobalObjects: false })
    return {
      url: url.origin,
      publicUrl: site.publicUrl,
      reload(next, certificate) {
        current.config = next
        listener.renew(certificate)
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

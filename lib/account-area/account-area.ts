import type { Clock } from '../platform/clock.ts'
import type { AccountAreaConfig, Config } from '../config/config.ts'
import { addressList } from '../http/client-address.ts'
import { DocumentPrinter } from '../documents/print/document-printer.ts'
import { AutoTopUpRows } from '../payments/auto-top-up-rows.ts'
import { Movements } from '../payments/movements.ts'
import { StartingCredits } from '../payments/starting-credit.ts'
import type { PaymentService } from '../payments/payment-service.ts'
import type { Store } from '../stores/store.ts'
import { readLegalTexts } from './pages/legal-texts.ts'
import { Members } from '../administration/members.ts'
import { openEmails, tellLowBalances } from './mail/emails.ts'
import type { Repeated } from '../platform/repeat.ts'
import { emailDocuments } from './mail/email-documents.ts'
import { tellNotices } from './mail/payment-emails.ts'
import { openMailer, type Mailer } from './mail/mailer.ts'
import type { Site } from './page.ts'
import { textsOf } from './texts/texts.ts'
import { createRouter } from './router.ts'
import { attemptsOf } from '../web/sign-in/attempts.ts'
import { EmailChange } from './sign-in/email-change.ts'
import { openArea, type AreaParts, type OpenArea } from '../web/open-area.ts'
import { openSignIn } from '../web/sign-in/open-sign-in.ts'
import { deleteExpired, customerTables } from '../web/sign-in/auth.ts'
import { areaAssets } from '../web/view/assets.ts'
import { accountFrame } from './view/account-frame.ts'
import type { UserRows } from '../accounts/user-rows.ts'

interface AccountAreaOptions extends AreaParts {
  readonly settings: AccountAreaConfig
  readonly store: Pick<Store, 'users' | 'settings' | 'accounts' | 'reports' | 'records'>
  /** Absent: customers cannot pay here. */
  readonly payments?: PaymentService | undefined
}

const hour = 60 * 60_000
const limits = {
  newKeyAttempts: { slowFrom: Infinity, lockFrom: 60, forgetMs: hour },
  topUpAttempts: { slowFrom: Infinity, lockFrom: 30, forgetMs: hour },
  newKeyForms: { slowFrom: Infinity, lockFrom: 1, forgetMs: 24 * hour },
  printAttempts: { slowFrom: Infinity, lockFrom: 120, forgetMs: hour / 6 },
}

/** The prefix of the area's cookies. */
const cookiePrefix = 'account'

async function openSite(
  options: AccountAreaOptions,
  publicUrl: URL,
  { mailer, printer }: { readonly mailer: Mailer; readonly printer: DocumentPrinter },
  current: { readonly config: Config },
): Promise<Site> {
  const { settings, store, failures, passwordCost, clock, log } = options
  const { users, accounts, reports } = store
  const { name, support } = settings
  const records = await store.records()
  const emails = openEmails({ mailer, publicUrl, name, contact: support })
  const startingCredits = new StartingCredits({
    records,
    clock,
    log,
    settings: () => current.config.startingCredit,
  })
  const signIn = await openSignIn({
    cookiePrefix,
    tables: customerTables,
    users,
    publicUrl,
    secret: settings.secret,
    name,
    emails: emails.signIn,
    onConfirmed: email => startingCredits.welcome(users, email),
    failures,
    passwordCost,
    clock,
    log,
  })
  return {
    get config() {
      return current.config
    },
    ...signIn,
    support,
    emailChange: new EmailChange({ ...signIn, settings: store.settings, emails: emails.settings }),
    settingsEmails: emails.settings,
    securityEmails: emails.settings,
    sendInvitation: emails.invite,
    ...attemptsOf(failures, cookiePrefix, limits),
    settings: store.settings,
    accounts,
    reports,
    payments: options.payments,
    records,
    members: new Members({ records, clock }),
    movements: new Movements(records),
    autoTopUps: new AutoTopUpRows(records),
    printer,
    legal: await readLegalTexts(settings),
    assets: areaAssets(new URL('view/style.css', import.meta.url)),
    textsOf,
    frame: accountFrame,
  }
}

/** Opens the account area on a port of its own. */
export async function openAccountArea(options: AccountAreaOptions): Promise<OpenArea> {
  const { config, settings, store, log } = options
  const mailer = openMailer(settings, log)
  const printer = new DocumentPrinter()
  const tellers: Repeated[] = []
  const end = async (): Promise<void> => {
    await Promise.all(tellers.map(teller => teller.close()))
    await mailer.close()
    await printer.close()
  }
  try {
    const area = await openArea({
      config,
      settings,
      log,
      async open(publicUrl, current) {
        const site = await openSite(options, publicUrl, { mailer, printer }, current)
        // Started even when payments are off: emails owed from before must still be sent.
        tellers.push(
          tellLowBalances({ ...site, mailer }),
          tellNotices({ ...site, mailer }),
          emailDocuments({ ...site, mailer }),
        )
        return createRouter(site, addressList(config.trustedProxies))
      },
      async purge() {
        await deleteExpired(store.users, customerTables, options.clock)
        await deleteUnconfirmed(store.users, options.clock)
      },
    })
    return {
      ...area,
      /** Waits for emails that are being sent. */
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

/** How long a new user may take to confirm the email. */
const confirmMs = 7 * 24 * 60 * 60_000
const usersAtOnce = 100

/**
 * Deletes users who did not confirm their email in time: the address may belong to a person who never signed up.
 * Returns how many.
 */
export async function deleteUnconfirmed(users: UserRows, clock: Clock): Promise<number> {
  const madeBefore = clock.now() - confirmMs
  let count = 0
  for (let deleted = usersAtOnce; deleted === usersAtOnce; count += deleted) {
    deleted = await users.deleteUnconfirmed(madeBefore, usersAtOnce)
  }
  return count
}

import type { AccountSettings, Accounts } from '../accounts/accounts.ts'
import type { Members } from '../administration/members.ts'
import type { Membership } from '../accounts/user-rows.ts'
import type { Config } from '../config/config.ts'
import type { DocumentPrinter } from '../documents/print/document-printer.ts'
import type { Reports } from '../ledger/reports.ts'
import type { AutoTopUpRows } from '../payments/auto-top-up-rows.ts'
import type { Movements } from '../payments/movements.ts'
import type { PaymentService } from '../payments/payment-service.ts'
import type { Records } from '../stores/records/records.ts'
import type { LegalTexts } from './pages/legal-texts.ts'
import type { SettingsEmails } from './mail/emails.ts'
import type { Attempts, EmailAttempts } from '../web/sign-in/attempts.ts'
import type { Recipient } from '../web/sign-in/auth.ts'
import type { EmailChange } from './sign-in/email-change.ts'
import type { OpenSession } from '../web/sign-in/sessions.ts'
import type { Texts } from './texts/texts.ts'
import type { Language } from '../web/texts/language.ts'
import type { PageResponse, WebPage, WebSite } from '../web/web-page.ts'

export type { PageResponse, Html } from '../web/web-page.ts'

/** The dependencies of all pages, created once at start. */
export interface Site extends WebSite {
  /** The current config: a reload changes it. */
  readonly config: Config
  /** The support address; undefined where the operator has set none. */
  readonly support: string | undefined
  readonly emailChange: EmailChange
  readonly settingsEmails: SettingsEmails
  /** Emails that a user has sent to others, by the user's network and by recipient. */
  readonly attempts: EmailAttempts
  readonly sendInvitation: (to: Recipient, inviter: string) => void
  /** New keys, by account. */
  readonly newKeyAttempts: Attempts
  /** Payments that customers start, by account. */
  readonly topUpAttempts: Attempts
  /** Submitted forms for new keys: submitting one again makes no second key. */
  readonly newKeyForms: Attempts
  readonly members: Members
  readonly settings: AccountSettings
  readonly accounts: Accounts
  readonly reports: Reports
  /** Absent: customers cannot pay here, and operators credit money. */
  readonly payments: PaymentService | undefined
  readonly movements: Movements
  readonly autoTopUps: AutoTopUpRows
  /** Companies, invoices and documents. */
  readonly records: Records
  readonly printer: DocumentPrinter
  /** Printed documents, by account. */
  readonly printAttempts: Attempts
  readonly legal: LegalTexts
  textsOf(language: Language): Texts
}

/** A request for a page of this area. */
export interface Page extends WebPage {
  readonly site: Site
  readonly texts: Texts
  /** The account that the user acts for; form tokens are bound to it. */
  readonly account: CurrentAccount | undefined
}

/** An account and the user's role in it. */
export interface CurrentAccount extends Membership {
  /** The name of the account, for a user with several. */
  readonly name?: string
}

/** A page of a signed-in user. Query data by `account.accountId`. */
export interface OwnPage extends Page {
  readonly session: OpenSession
  readonly account: CurrentAccount
}

/** Handles a request for a page of a signed-in user. */
export type ShowOwnPage = (page: OwnPage) => PageResponse | Promise<PageResponse>

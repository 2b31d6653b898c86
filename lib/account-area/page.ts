import type { HttpBindings } from '@hono/node-server'
import type { Context } from 'hono'
import type { html } from 'hono/html'
import type { AccountSettings } from '../accounts/account-settings.ts'
import type { Accounts } from '../accounts/accounts.ts'
import type { Members } from '../accounts/members.ts'
import type { Membership, UserRows } from '../accounts/user-rows.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { DocumentPrinter } from '../documents/print/document-printer.ts'
import type { Reports } from '../ledger/reports.ts'
import type { Log } from '../observability/log.ts'
import type { AutoTopUpRows } from '../payments/auto-top-up-rows.ts'
import type { Movements } from '../payments/movements.ts'
import type { PaymentService } from '../payments/payment-service.ts'
import type { Records } from '../stores/records/records.ts'
import type { LegalTexts } from './documents/legal-texts.ts'
import type { SettingsLetters } from './mail/settings-letters.ts'
import type { Attempts } from './sign-in/attempts.ts'
import type { Recipient } from './sign-in/auth.ts'
import type { Caller } from './sign-in/caller.ts'
import type { EmailChange } from './sign-in/email-change.ts'
import type { Identity } from './sign-in/identity.ts'
import type { SecondFactor } from './sign-in/second-factor.ts'
import type { OpenSession, Sessions } from './sign-in/sessions.ts'
import type { Language, Texts } from './texts/texts.ts'
import type { Asset } from './view/assets.ts'

/** Markup whose values are escaped. */
export type Html = ReturnType<typeof html>

/** Light, dark, or as the system has it. */
export type Theme = 'system' | 'light' | 'dark'

/** What all pages work with, made once at the start. */
export interface Site {
  /** As it is now: a reload changes it. */
  readonly config: Config
  /** The name that pages show. */
  readonly name: string
  /** Where customers write; undefined where the operator has named no address. */
  readonly support: string | undefined
  /** Where customers find it. */
  readonly publicUrl: URL
  /** Signs the tokens of forms. */
  readonly secret: string
  readonly identity: Identity
  readonly sessions: Sessions
  readonly secondFactor: SecondFactor
  /** Passwords asked for again inside, by user. */
  readonly passwordAttempts: Attempts
  readonly emailChange: EmailChange
  readonly settingsLetters: SettingsLetters
  /** Emails that a user has sent to others, by the user's network and by the address. */
  readonly emailAttempts: { readonly lettersFrom: Attempts; readonly lettersTo: Attempts }
  readonly sendInvitation: (to: Recipient, inviter: string) => void
  /** New keys, by account. */
  readonly newKeyAttempts: Attempts
  /** Payments that customers begin, by account. */
  readonly topUpAttempts: Attempts
  /** Forms for new keys that were taken: sent once more, they make no second key. */
  readonly newKeyForms: Attempts
  readonly users: UserRows
  readonly members: Members
  readonly settings: AccountSettings
  readonly accounts: Accounts
  readonly reports: Reports
  /** Absent: nobody can pay here, and the operator books money in. */
  readonly payments: PaymentService | undefined
  readonly movements: Movements
  readonly autoTopUps: AutoTopUpRows
  /** Companies, invoices and documents. */
  readonly records: Records
  readonly printer: DocumentPrinter
  /** Documents that were printed, by account. */
  readonly printAttempts: Attempts
  readonly legal: LegalTexts
  readonly assets: { readonly style: Asset; readonly script: Asset }
  readonly clock: Clock
  readonly log: Log
}

/** A request as a page meets it. */
export interface Page {
  readonly site: Site
  readonly texts: Texts
  readonly language: Language
  readonly theme: Theme
  /** For the hidden field of every form; `form` puts it there. */
  readonly csrf: string
  readonly requestId: string
  readonly caller: Caller
  /** The page's own path with its query, for coming back. */
  readonly path: string
  readonly session: OpenSession | undefined
  /** The account that the user acts for now; its forms are good for no other. */
  readonly account: CurrentAccount | undefined
}

/** An account and the user's role in it. */
export interface CurrentAccount extends Membership {
  /** What it is called, for a user who has several. */
  readonly name?: string
}

/** A page of a user who is signed in. Look things up by `account.accountId`. */
export interface OwnPage extends Page {
  readonly session: OpenSession
  readonly account: CurrentAccount
}

/** What hono carries for us. */
export interface PageEnv {
  readonly Bindings: HttpBindings
  readonly Variables: { page: Page }
}

/** A request and its answer, as hono has them. */
export type PageContext = Context<PageEnv>

/** Answers a request for a page that anybody may see. */
export type ShowPage = (context: PageContext, page: Page) => Response | Promise<Response>

/** Answers a request for a page of one's own. */
export type ShowOwnPage = (context: PageContext, page: OwnPage) => Response | Promise<Response>

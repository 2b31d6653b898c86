import type { Accounts } from '../accounts/accounts.ts'
import type { Members } from '../administration/members.ts'
import type { Config } from '../config/config.ts'
import type { Reports } from '../ledger/reports.ts'
import type { Movements } from '../payments/movements.ts'
import type { PaymentReader } from '../payments/payment-reader.ts'
import type { PaymentActions } from '../payments/payment-actions.ts'
import type { PricePreviews } from '../prices/price-previews.ts'
import type { OperatorRole } from '../stores/records/operator-tables.ts'
import type { Records } from '../stores/records/records.ts'
import type { ProviderHealth } from '../upstream/provider-health.ts'
import type { OpenSession } from '../web/sign-in/sessions.ts'
import type { Language } from '../web/texts/language.ts'
import type { PageResponse, WebPage, WebSite } from '../web/web-page.ts'
import type { Texts } from './texts/texts.ts'

/** Providers as the processes of this node have them. */
export interface DeskProviders {
  /** What each process knows of every provider. */
  health(): Promise<readonly (readonly ProviderHealth[])[]>
  /** Resolves when all processes act by what is switched in the store. */
  look(): Promise<void>
}

/** What the operators' pages work with, made once at the start. */
export interface DeskSite extends WebSite {
  /** As it is now: a reload changes it. */
  readonly config: Config
  readonly records: Records
  readonly accounts: Accounts
  readonly reports: Reports
  readonly members: Members
  readonly movements: Movements
  readonly payments: PaymentReader
  /** Absent: nobody can pay, and nothing be refunded. */
  readonly paymentActions: PaymentActions | undefined
  readonly providers: DeskProviders
  readonly pricePreviews: PricePreviews
  textsOf(language: Language): Texts
}

/** A request as a page meets it. */
export interface Page extends WebPage {
  readonly site: DeskSite
  readonly texts: Texts
  /** Of the session; undefined once the operator was removed. */
  readonly role: OperatorRole | undefined
}

/** A page of an operator who is signed in with both factors. */
export interface DeskPage extends Page {
  readonly session: OpenSession
  readonly role: OperatorRole
  /** The operator's email, by which the log names them. */
  readonly operator: string
}

/** What may be done: look at everything, note something, move money, or everything else. */
export type Permission = 'look' | 'note' | 'money' | 'manage'

const allowed: Readonly<Record<OperatorRole, readonly Permission[]>> = {
  owner: ['look', 'note', 'money', 'manage'],
  finance: ['look', 'note', 'money'],
  support: ['look', 'note'],
}

/** Whether a role may do something. */
export function may(role: OperatorRole, permission: Permission): boolean {
  return allowed[role].includes(permission)
}

/** Answers a request for a page of an operator. */
export type ShowDeskPage = (page: DeskPage) => PageResponse | Promise<PageResponse>

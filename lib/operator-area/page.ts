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

/** Providers as the processes of this node see them. */
export interface DeskProviders {
  /** Each process's state of every provider. */
  health(): Promise<readonly (readonly ProviderHealth[])[]>
  /** Resolves when all processes have applied the switches in the store. */
  look(): Promise<void>
}

/** The dependencies of the operators' pages, created once at start. */
export interface DeskSite extends WebSite {
  /** The current config: a reload changes it. */
  readonly config: Config
  readonly records: Records
  readonly accounts: Accounts
  readonly reports: Reports
  readonly members: Members
  readonly movements: Movements
  readonly payments: PaymentReader
  /** Absent: no payments, and no refunds. */
  readonly paymentActions: PaymentActions | undefined
  readonly providers: DeskProviders
  readonly pricePreviews: PricePreviews
  textsOf(language: Language): Texts
}

/** A request for a page of this area. */
export interface Page extends WebPage {
  readonly site: DeskSite
  readonly texts: Texts
  /** The role of the session's operator; undefined once the operator was removed. */
  readonly role: OperatorRole | undefined
}

/** A page of an operator who is signed in with both factors. */
export interface DeskPage extends Page {
  readonly session: OpenSession
  readonly role: OperatorRole
  /** The operator's email, their name in the log. */
  readonly operator: string
}

/** Permissions: viewing everything, adding notes, moving money, or everything else. */
export type Permission = 'look' | 'note' | 'money' | 'manage'

const allowed: Readonly<Record<OperatorRole, readonly Permission[]>> = {
  owner: ['look', 'note', 'money', 'manage'],
  finance: ['look', 'note', 'money'],
  support: ['look', 'note'],
}

/** Whether a role has a permission. */
export function may(role: OperatorRole, permission: Permission): boolean {
  return allowed[role].includes(permission)
}

/** Handles a request for a page of an operator. */
export type ShowDeskPage = (page: DeskPage) => PageResponse | Promise<PageResponse>

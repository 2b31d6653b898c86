import type { HttpBindings } from '@hono/node-server'
import type { Context } from 'hono'
import type { html } from 'hono/html'
import type { UserRows } from '../accounts/user-rows.ts'
import type { Clock } from '../platform/clock.ts'
import type { Log } from '../platform/log.ts'
import type { Attempts } from './sign-in/attempts.ts'
import type { Caller, SignInTables } from './sign-in/auth.ts'
import type { Identity } from './sign-in/identity.ts'
import type { SecondFactor } from './sign-in/second-factor.ts'
import type { OpenSession, Sessions } from './sign-in/sessions.ts'
import type { Language } from './texts/language.ts'
import type { WebTexts } from './texts/web-texts.ts'
import type { Asset } from './view/assets.ts'
import type { Frame } from './view/layout.ts'

/** Markup with escaped values. */
export type Html = ReturnType<typeof html>

export type Theme = 'system' | 'light' | 'dark'

/** Emails about the security of a user's sign-in. */
interface SecurityEmails {
  passwordChanged(to: { readonly email: string; readonly language: string }): void
  twoFactorChanged(to: { readonly email: string; readonly language: string }, isOn: boolean): void
  backupCodesMade(to: { readonly email: string; readonly language: string }): void
}

/** The dependencies of every area's pages, created once at start. An area's own site extends them. */
export interface WebSite {
  /** The prefix of its cookies' names: browsers share cookies between all ports of a host. */
  readonly cookiePrefix: string
  /** The name that pages show. */
  readonly name: string
  /** The URL that users open. */
  readonly publicUrl: URL
  /** Signs the tokens of forms. */
  readonly secret: string
  readonly identity: Identity
  readonly sessions: Sessions
  readonly secondFactor: SecondFactor
  /** Attempts to confirm the password while signed in, by user. */
  readonly passwordAttempts: Attempts
  readonly securityEmails: SecurityEmails
  readonly users: UserRows
  readonly tables: SignInTables
  readonly assets: { readonly style: Asset; readonly script: Asset }
  readonly clock: Clock
  readonly log: Log
  textsOf(language: Language): WebTexts
  /** The frame around the content of a page. */
  frame(page: WebPage): Frame
}

/** A request for a page. */
export interface WebPage {
  readonly context: PageContext
  readonly site: WebSite
  readonly texts: WebTexts
  readonly language: Language
  readonly theme: Theme
  /** For the hidden field of every form; `form` adds it. */
  readonly csrf: string
  readonly requestId: string
  readonly caller: Caller
  /** The page's own path with its query, to return to. */
  readonly path: string
  readonly session: OpenSession | undefined
}

/** A page of a signed-in user. */
export interface SignedInPage extends WebPage {
  readonly session: OpenSession
}

/** The variables in hono's context; each area uses its own page type. */
export interface PageEnv {
  readonly Bindings: HttpBindings
  /** `failure`: the kind of failure page that was shown. */
  readonly Variables: { page: WebPage; failure?: string }
}

/** A request and its response in hono. */
export type PageContext = Context<PageEnv>

/** The result of a page: its markup, or another response. */
export type PageResponse = Html | Response

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

/** Markup whose values are escaped. */
export type Html = ReturnType<typeof html>

export type Theme = 'system' | 'light' | 'dark'

/** Emails about the security of a user's sign-in. */
interface SecurityEmails {
  passwordChanged(to: { readonly email: string; readonly language: string }): void
  twoFactorChanged(to: { readonly email: string; readonly language: string }, isOn: boolean): void
  backupCodesMade(to: { readonly email: string; readonly language: string }): void
}

/** What the pages of every area work with, made once at the start. An area's own site has it, and more. */
export interface WebSite {
  /** Begins the names of its cookies: browsers keep those of all ports of a host together. */
  readonly cookiePrefix: string
  /** The name that pages show. */
  readonly name: string
  /** Where users find it. */
  readonly publicUrl: URL
  /** Signs the tokens of forms. */
  readonly secret: string
  readonly identity: Identity
  readonly sessions: Sessions
  readonly secondFactor: SecondFactor
  /** Passwords asked for again inside, by user. */
  readonly passwordAttempts: Attempts
  readonly securityEmails: SecurityEmails
  readonly users: UserRows
  readonly tables: SignInTables
  readonly assets: { readonly style: Asset; readonly script: Asset }
  readonly clock: Clock
  readonly log: Log
  textsOf(language: Language): WebTexts
  /** What stands around the content of a page. */
  frame(page: WebPage): Frame
}

/** A request as a page meets it. */
export interface WebPage {
  readonly context: PageContext
  readonly site: WebSite
  readonly texts: WebTexts
  readonly language: Language
  readonly theme: Theme
  /** For the hidden field of every form; `form` puts it there. */
  readonly csrf: string
  readonly requestId: string
  readonly caller: Caller
  /** The page's own path with its query, for coming back. */
  readonly path: string
  readonly session: OpenSession | undefined
}

/** A page of a user who is signed in. */
export interface SignedInPage extends WebPage {
  readonly session: OpenSession
}

/** What hono carries: of an area, its own kind of page. */
export interface PageEnv {
  readonly Bindings: HttpBindings
  /** `failure`: which page says that it cannot be shown, or the form not be taken. */
  readonly Variables: { page: WebPage; failure?: string }
}

/** A request and its response, as hono has them. */
export type PageContext = Context<PageEnv>

/** What a page answers: its markup, or a response of another kind. */
export type PageResponse = Html | Response

import { html } from 'hono/html'
import type { Frame, Section } from '../../web/view/layout.ts'
import type { OwnPage, Page, Html } from '../page.ts'
import type { Texts } from '../texts/texts.ts'

interface AccountSection {
  readonly path: string
  readonly label: (texts: Texts) => string
  /** Pages elsewhere that belong to it. */
  readonly also?: readonly string[]
  /** Keys and requests are not for accountants. */
  readonly isOwners?: boolean
  /** There only where companies are sold to. */
  readonly isSellers?: boolean
}

/** The navigation, in its order. */
const sections: readonly AccountSection[] = [
  { path: '/', label: texts => texts.shell.overview, isOwners: true },
  { path: '/balance', label: texts => texts.shell.balance },
  { path: '/keys', label: texts => texts.shell.keys, isOwners: true },
  { path: '/charges', label: texts => texts.shell.charges, isOwners: true },
  { path: '/documents', label: texts => texts.shell.documents, isSellers: true },
  { path: '/models', label: texts => texts.shell.models },
  { path: '/quick-start', label: texts => texts.shell.quickStart, isOwners: true },
  { path: '/settings', label: texts => texts.shell.settings, also: ['/security'] },
]

/** The sections of a page's reader. */
function sectionsOf({ account, site, texts }: Page): readonly Section[] {
  return sections
    .filter(
      ({ isOwners = false, isSellers = false }) =>
        (!isOwners || account?.role === 'owner') && (!isSellers || site.config.seller !== undefined),
    )
    .map(({ path, also, label }) => ({ path, label: label(texts), ...(also !== undefined && { also }) }))
}

function isOwn(page: Page): page is OwnPage {
  return page.session !== undefined && page.account !== undefined
}

/** What stands around the content of a customer's page. */
export function accountFrame(page: Page): Frame {
  const { site, account, texts } = page
  const { shell, signIn } = texts
  return {
    sections: sectionsOf(page),
    ...(account?.name !== undefined && {
      who: html`<a class="account" href="/accounts" title="${shell.accounts}">${account.name}</a>`,
    }),
    visitors: html`<a href="/sign-up">${shell.signUp}</a>`,
    signInHelp: html`<p><a href="/forgot-password">${signIn.forgot}</a></p>
      <p>${signIn.noAccount} <a href="/sign-up">${shell.signUp}</a></p>`,
    foot: html`<li><a href="/documents/offer">${shell.offer}</a></li>
      <li><a href="/documents/personal-data">${shell.personalData}</a></li>
      ${site.support === undefined ? '' : html`<li><a href="mailto:${site.support}">${shell.support(site.support)}</a></li>`}`,
    ...(isOwn(page) && { settingsTabs: settingsTabs(page) }),
  }
}

/** Leads from one page of the settings to another. */
export function settingsTabs({ site, texts, path, account }: OwnPage): Html {
  const own = path.split('?')[0] ?? ''
  const tab = (to: string, label: string): Html =>
    html`<li><a href="${to}" ${own === to ? html`aria-current="page"` : ''}>${label}</a></li>`
  return html`<nav class="tabs" aria-label="${texts.settings.parts}">
    <ul>
      ${tab('/settings', texts.settings.general)} ${tab('/security', texts.security.title)}
      ${site.config.seller === undefined ? '' : tab('/settings/company', texts.company.title)}
      ${account.role === 'owner' ? tab('/settings/members', texts.members.title) : ''}
    </ul>
  </nav>`
}

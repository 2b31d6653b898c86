import { html } from 'hono/html'
import type { Frame, Section } from '../../web/view/layout.ts'
import type { OwnPage, Page, Html } from '../page.ts'

/** The navigation for a page's user, in order. */
function sectionsOf({ account, site, texts: { shell } }: Page): readonly Section[] {
  // Accountants see neither keys nor requests.
  const isOwner = account?.role === 'owner'
  const isSeller = site.config.seller !== undefined
  const sections: readonly (Section & { readonly isShown?: boolean })[] = [
    { path: '/', label: shell.overview, isShown: isOwner },
    { path: '/balance', label: shell.balance },
    { path: '/keys', label: shell.keys, isShown: isOwner },
    { path: '/charges', label: shell.charges, isShown: isOwner },
    { path: '/documents', label: shell.documents, isShown: isSeller },
    { path: '/models', label: shell.models },
    { path: '/quick-start', label: shell.quickStart, isShown: isOwner },
    { path: '/settings', label: shell.settings, also: ['/security'] },
  ]
  return sections.filter(({ isShown = true }) => isShown)
}

function isOwn(page: Page): page is OwnPage {
  return page.session !== undefined && page.account !== undefined
}

/** The frame around a customer's page. */
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

/** Links between the pages of the settings. */
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

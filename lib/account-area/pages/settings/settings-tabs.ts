import { html } from 'hono/html'
import type { Html, OwnPage } from '../../page.ts'

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

import { html } from 'hono/html'
import type { Frame } from '../../web/view/layout.ts'
import type { Page } from '../page.ts'

/** What stands around the content of an operator's page. */
export function deskFrame(page: Page): Frame {
  const { sections, roles } = page.texts
  return {
    sections: [
      { path: '/', label: sections.today },
      { path: '/customers', label: sections.customers },
      { path: '/payments', label: sections.payments },
      { path: '/transfers', label: sections.transfers },
      { path: '/documents', label: sections.documents },
      { path: '/providers', label: sections.providers },
      { path: '/prices', label: sections.prices },
      { path: '/log', label: sections.log },
      { path: '/security', label: page.texts.shell.security },
    ],
    ...(page.role !== undefined && { who: html`<span class="badge">${roles[page.role]}</span>` }),
  }
}

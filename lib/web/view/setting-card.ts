import { html } from 'hono/html'
import type { Html } from '../web-page.ts'

/** What can be set: on the left what it is, on the right how; on a small screen one below the other. */
export function settingCard(title: Html | string, about: Html | string, content: Html): Html {
  return html`<section class="card setting">
    <div class="stack">
      <h2>${title}</h2>
      <div class="quiet">${about}</div>
    </div>
    <div class="stack">${content}</div>
  </section>`
}

import { html } from 'hono/html'
import type { Html } from '../../web/web-page.ts'

/** Names with their values, side by side. */
export function facts(all: readonly (readonly [name: string, value: Html | string])[]): Html {
  return html`<dl class="facts">
    ${all.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`
}

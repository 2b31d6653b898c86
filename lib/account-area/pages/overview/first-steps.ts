import { html } from 'hono/html'
import type { Html, OwnPage } from '../../page.ts'

/** What a new customer has done already. */
interface Done {
  readonly hasKey: boolean
  readonly hasMoney: boolean
}

/** What to do next, for an account without a single charge. */
export function firstSteps({ texts }: OwnPage, { hasKey, hasMoney }: Done): Html {
  const { overview } = texts
  const { steps } = overview
  const step = (
    { title, text }: { readonly title: string; readonly text: string },
    isDone: boolean,
    action: Html | string,
  ): Html =>
    html`<li>
      <h3>${title} ${isDone ? html`<span class="badge good">${overview.isDone}</span>` : ''}</h3>
      <p class="quiet">${text}</p>
      ${isDone ? '' : action}
    </li>`
  const link = (path: string, label: string, isNext: boolean): Html =>
    html`<p><a class="button ${isNext ? '' : 'plain'}" href="${path}">${label}</a></p>`
  return html`<section class="card">
    <h2>${overview.start}</h2>
    <ol class="steps">
      ${step(steps.key, hasKey, link('/keys/new', overview.makeKey, true))}
      ${step(steps.money, hasMoney, link('/balance', overview.topUp, hasKey))}
      ${step(steps.quickStart, false, link('/quick-start', overview.quickStart, hasKey && hasMoney))}
    </ol>
  </section>`
}

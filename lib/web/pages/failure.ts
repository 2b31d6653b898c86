import { html } from 'hono/html'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { WebPage } from '../web-page.ts'
import { titledPage } from '../view/layout.ts'

const statuses = {
  notFound: 404,
  forbidden: 403,
  denied: 403,
  tooLarge: 413,
  tooOften: 429,
  unavailable: 503,
  internal: 500,
} satisfies Record<string, ContentfulStatusCode>

/** A failure page in the site's style, with the request's id. */
export async function showFailure(page: WebPage, kind: keyof typeof statuses): Promise<Response> {
  page.context.set('failure', kind)
  const { failures, shell } = page.texts
  const { title, text } = failures[kind]
  return page.context.html(
    titledPage(
      page,
      { title, isNarrow: true },
      html`<p>${text}</p>
        <p class="quiet small">${shell.request}: <code>${page.requestId}</code></p>
        <p><a class="button" href="/">${failures.home}</a></p>`,
    ),
    statuses[kind],
  )
}

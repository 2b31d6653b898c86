import { html } from 'hono/html'
import type { LegalText } from '../documents/legal-texts.ts'
import type { Html, Page, PageContext } from '../page.ts'
import { layout } from '../../web/view/layout.ts'

/** Blank lines part paragraphs, `# ` begins a heading; the rest is text. */
function paragraphs(text: string): readonly Html[] {
  return text
    .split(/\r?\n\s*\r?\n/)
    .map(block => block.trim())
    .filter(block => block !== '')
    .map(block => (block.startsWith('# ') ? html`<h1>${block.slice(2)}</h1>` : html`<p>${block}</p>`))
}

function show(
  context: PageContext,
  page: Page,
  title: string,
  legal: LegalText,
): Response | Promise<Response> {
  return context.html(
    layout(
      page,
      { title },
      html`<article class="card prose">
        ${paragraphs(legal.text[page.language])}
        <p class="quiet small">${page.texts.signUp.version(legal.version)}</p>
      </article>`,
    ),
  )
}

/** The offer. */
export function showOffer(context: PageContext, page: Page): Response | Promise<Response> {
  return show(context, page, page.texts.shell.offer, page.site.legal.offer)
}

/** The consent to the processing of personal data. */
export function showPersonalData(context: PageContext, page: Page): Response | Promise<Response> {
  return show(context, page, page.texts.shell.personalData, page.site.legal['personal-data'])
}

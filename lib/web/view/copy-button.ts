import { html } from 'hono/html'
import type { Html, WebPage } from '../web-page.ts'

/** Copies the text or value of the element with an id. Without script it stays hidden. */
export function copyButton({ texts: { shell } }: WebPage, elementId: string): Html {
  return html`<button type="button" class="plain" hidden data-copy="${elementId}" data-done="${shell.copied}">
    ${shell.copy}
  </button>`
}

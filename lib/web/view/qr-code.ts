import { html, raw } from 'hono/html'
import { renderSVG } from 'uqr'
import type { Html } from '../web-page.ts'

/** A text as an image for a phone's camera. It is a part of the page, so nobody else learns what it says. */
export function qrCode(text: string, label: string): Html {
  // Its own quiet zone of four modules (ISO 18004), as the page around it may be dark.
  return html`<div class="qr-code" role="img" aria-label="${label}">
    ${raw(renderSVG(text, { ecc: 'M', border: 4 }))}
  </div>`
}

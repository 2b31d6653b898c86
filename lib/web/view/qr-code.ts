import { html, raw } from 'hono/html'
import { renderSVG } from 'uqr'
import type { Html } from '../web-page.ts'

/** A text as a QR code. It is inlined, so its text is not sent anywhere else. */
export function qrCode(text: string, label: string): Html {
  // Includes the quiet zone of four modules (ISO 18004), as the page around it may be dark.
  return html`<div class="qr-code" role="img" aria-label="${label}">
    ${raw(renderSVG(text, { ecc: 'M', border: 4 }))}
  </div>`
}

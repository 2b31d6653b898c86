import { html } from 'hono/html'
import type { Html, WebPage } from '../web-page.ts'
import { form } from './form.ts'

interface ButtonForm {
  readonly action: string
  /** Sent with it. */
  readonly fields?: Readonly<Record<string, string>>
  readonly label: string
  /** What a screen reader says, where several buttons of a page have the same label. */
  readonly spoken?: string
  readonly className?: '' | 'plain' | 'link' | 'danger'
}

/** A button that changes something. */
export function buttonForm(
  page: WebPage,
  { action, fields = {}, label, spoken, className = '' }: ButtonForm,
): Html {
  return form(
    page,
    action,
    html`${Object.entries(fields).map(
        ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
      )}
      <button class="${className}" ${spoken === undefined ? '' : html`aria-label="${spoken}"`}>
        ${label}
      </button>`,
    { className: '' },
  )
}

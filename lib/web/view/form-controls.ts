import { html } from 'hono/html'
import type { Html, WebPage } from '../web-page.ts'
import { problem, form } from './form.ts'
import type { FormState } from './form.ts'

interface ControlOptions {
  readonly name: string
  readonly label: string
  readonly hint?: string
}

interface ButtonForm {
  readonly action: string
  /** Sent with it. */
  readonly fields?: Readonly<Record<string, string>>
  readonly label: string
  /** What a screen reader says, where several buttons of a page have the same label. */
  readonly spoken?: string
  readonly className?: '' | 'plain' | 'link' | 'danger'
}

function describedBy({ name, hint }: ControlOptions, error: string | undefined): string {
  return [hint === undefined ? '' : `${name}-hint`, error === undefined ? '' : `${name}-error`]
    .join(' ')
    .trim()
}

function around(options: ControlOptions, error: string | undefined, control: Html): Html {
  const { name, label, hint } = options
  return html`<div class="field">
    <label for="${name}">${label}</label>
    ${control}${hint === undefined ? '' : html`<span class="hint" id="${name}-hint">${hint}</span>`}
    ${problem(name, error)}
  </div>`
}

/** A field of several lines, which may stay empty. */
export function textArea(state: FormState, options: ControlOptions): Html {
  const { name } = options
  const error = state.errors[name]
  return around(
    options,
    error,
    // A line end right after the tag is dropped by browsers, so one stands there for what was typed.
    html`<textarea
      id="${name}"
      name="${name}"
      rows="2"
      autocomplete="off"
      autocapitalize="none"
      spellcheck="false"
      ${error === undefined ? '' : html`aria-invalid="true"`}
      aria-describedby="${describedBy(options, error)}"
    >
${state.typed[name] ?? ''}</textarea>`,
  )
}

/** One of a few options. */
export function choice(
  state: FormState,
  options: ControlOptions & { readonly options: Readonly<Record<string, string>> },
): Html {
  const { name } = options
  const error = state.errors[name]
  return around(
    options,
    error,
    html`<select
      id="${name}"
      name="${name}"
      ${error === undefined ? '' : html`aria-invalid="true"`}
      aria-describedby="${describedBy(options, error)}"
    >
      ${Object.entries(options.options).map(
        ([value, label]) =>
          html`<option value="${value}" ${state.typed[name] === value ? html`selected` : ''}>
            ${label}
          </option>`,
      )}
    </select>`,
  )
}

/** One of two or three options, all of them in sight; the first is chosen unless another was. */
export function radios(
  state: FormState,
  { name, label, options }: ControlOptions & { readonly options: Readonly<Record<string, string>> },
): Html {
  const error = state.errors[name]
  const entries = Object.entries(options)
  const [first] = entries
  return html`<fieldset
    class="field radios"
    id="${name}"
    ${error === undefined ? '' : html`aria-describedby="${name}-error"`}
  >
    <legend>${label}</legend>
    ${entries.map(
      ([value, text]) =>
        html`<label class="radio">
          <input
            type="radio"
            name="${name}"
            value="${value}"
            ${(state.typed[name] ?? first?.[0]) === value ? html`checked` : ''}
            ${error === undefined ? '' : html`aria-invalid="true"`}
          />
          <span>${text}</span>
        </label>`,
    )}
    ${problem(name, error)}
  </fieldset>`
}

/** Copies the text or value of the element with an id. Without script it stays hidden. */
export function copyButton({ texts: { shell } }: WebPage, elementId: string): Html {
  return html`<button type="button" class="plain" hidden data-copy="${elementId}" data-done="${shell.copied}">
    ${shell.copy}
  </button>`
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

import { html } from 'hono/html'
import type { Html, WebPage } from '../web-page.ts'

/** What is wrong, by the name of the field, in the user's language. */
type FieldErrors = Readonly<Record<string, string>>

/** A form as it was sent: what was typed, and what is wrong with it. */
export interface FormState {
  readonly typed: Readonly<Record<string, string>>
  readonly errors: FieldErrors
}

/** A form that nobody has filled in yet. */
export const emptyForm: FormState = { typed: {}, errors: {} }

/** A form that is posted, with the token that says it is ours. */
export function form(
  page: WebPage,
  action: string,
  content: Html,
  { className = 'stack' }: { readonly className?: string } = {},
): Html {
  return html`<form method="post" action="${action}" class="${className}" novalidate>
    <input type="hidden" name="csrf" value="${page.csrf}" />
    ${content}
  </form>`
}

interface FieldOptions {
  readonly name: string
  readonly label: string
  readonly type?: 'text' | 'email' | 'password' | 'number' | 'date' | 'search'
  readonly hint?: string
  /** For password managers and keyboards: `email`, `new-password`, `one-time-code` ... */
  readonly autocomplete?: string
  readonly inputmode?: 'numeric' | 'decimal'
  readonly isOptional?: boolean
  /** The id of a datalist with what is often typed. */
  readonly list?: string
  /** Beside its name, where two forms of a page have a field of the same name. */
  readonly id?: string
}

/** A labelled field with its hint and error. What was typed is kept, except passwords. */
export function field(state: FormState, options: FieldOptions): Html {
  const {
    name,
    label,
    type = 'text',
    hint,
    autocomplete = 'off',
    inputmode,
    isOptional = false,
    list,
  } = options
  const id = options.id ?? name
  const error = state.errors[name]
  const described = [hint === undefined ? '' : `${id}-hint`, error === undefined ? '' : `${id}-error`]
  return html`<div class="field">
    <label for="${id}">${label}</label>
    <input
      id="${id}"
      name="${name}"
      type="${type}"
      value="${type === 'password' ? '' : (state.typed[name] ?? '')}"
      autocomplete="${autocomplete}"
      ${list === undefined ? '' : html`list="${list}"`}
      ${inputmode === undefined ? '' : html`inputmode="${inputmode}"`}
      ${isOptional ? '' : html`required`}
      ${error === undefined ? '' : html`aria-invalid="true"`}
      aria-describedby="${described.join(' ').trim()}"
    />
    ${hint === undefined ? '' : html`<span class="hint" id="${id}-hint">${hint}</span>`} ${problem(id, error)}
  </div>`
}

/** What is wrong with a field, where its `aria-describedby` points: `<id>-error`. */
export function problem(id: string, error: string | undefined): Html {
  return error === undefined ? html`` : html`<span class="problem" id="${id}-error">${error}</span>`
}

/** A box to tick, never ticked beforehand. The label may hold links. */
export function checkbox(
  state: FormState,
  { name, label }: { readonly name: string; readonly label: Html | string },
): Html {
  const error = state.errors[name]
  return html`<div class="field">
    <div class="check">
      <input
        id="${name}"
        name="${name}"
        type="checkbox"
        value="yes"
        ${state.typed[name] === 'yes' ? html`checked` : ''}
        ${error === undefined ? '' : html`aria-invalid="true"`}
        aria-describedby="${error === undefined ? '' : `${name}-error`}"
      />
      <label for="${name}">${label}</label>
    </div>
    ${problem(name, error)}
  </div>`
}

/** Says above a form that something is wrong with it, and leads to the first such field; ids of fields may begin with something. */
export function formProblems(page: WebPage, { errors }: FormState, idPrefix = ''): Html {
  const [first] = Object.keys(errors)
  if (first === undefined) return html``
  return html`<p class="notice bad" role="alert">
    <a href="#${idPrefix}${first}">${page.texts.failures.summary}</a>
  </p>`
}

/** A page's path without what was said on it once. */
export function pathWithoutNotice(path: string): string {
  const [pathname = '', search = ''] = path.split('?')
  const parameters = new URLSearchParams(search)
  parameters.delete('notice')
  return parameters.size === 0 ? pathname : `${pathname}?${parameters.toString()}`
}

/** Says what was done on the page before, by `?notice=`; an unknown word says nothing. */
export function notice(page: WebPage): Html {
  const word = new URLSearchParams(page.path.split('?')[1]).get('notice')
  const { notices } = page.texts
  if (word === null || !Object.hasOwn(notices, word)) return html``
  return html`<p class="notice" role="status">${notices[word as keyof typeof notices]}</p>`
}

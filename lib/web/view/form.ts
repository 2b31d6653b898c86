import { html } from 'hono/html'
import type { Html, WebPage } from '../web-page.ts'

/** Errors by field name, in the user's language. */
type FieldErrors = Readonly<Record<string, string>>

/** A submitted form: the typed values, and their errors. */
export interface FormState {
  readonly typed: Readonly<Record<string, string>>
  readonly errors: FieldErrors
}

/** An empty form. */
export const emptyForm: FormState = { typed: {}, errors: {} }

/** A form with one field prefilled from the page's query. */
export function askedForm({ context }: WebPage, name: string): FormState {
  return { typed: { [name]: context.req.query(name) ?? '' }, errors: {} }
}

/** A POST form with its token. */
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

interface ControlOptions {
  readonly name: string
  readonly label: string
  readonly hint?: string
  /** The element's id, where two forms of a page have a field of the same name. */
  readonly id?: string
}

/** Attributes for screen readers: the hint and the error of a control. */
function described({ errors }: FormState, { name, hint, id = name }: ControlOptions): Html {
  const error = errors[name]
  const ids = [hint === undefined ? '' : `${id}-hint`, error === undefined ? '' : `${id}-error`]
  return html`${error === undefined ? '' : html`aria-invalid="true"`}
  aria-describedby="${ids.join(' ').trim()}"`
}

/** A control with its label, hint and error. */
function labeled(
  { errors }: FormState,
  { name, label, hint, id = name }: ControlOptions,
  control: Html,
): Html {
  return html`<div class="field">
    <label for="${id}">${label}</label>
    ${control} ${hint === undefined ? '' : html`<span class="hint" id="${id}-hint">${hint}</span>`}
    ${problem(id, errors[name])}
  </div>`
}

interface FieldOptions extends ControlOptions {
  readonly type?: 'text' | 'email' | 'password' | 'date' | 'search'
  /** For password managers and keyboards: `email`, `new-password`, `one-time-code` ... */
  readonly autocomplete?: string
  readonly inputmode?: 'numeric' | 'decimal'
  readonly isOptional?: boolean
  /** The id of a datalist with suggestions. */
  readonly list?: string
}

/** A labeled field with its hint and error. Typed values are kept, except passwords. */
export function field(state: FormState, options: FieldOptions): Html {
  const {
    name,
    id = name,
    type = 'text',
    autocomplete = 'off',
    inputmode,
    isOptional = false,
    list,
  } = options
  return labeled(
    state,
    options,
    html`<input
      id="${id}"
      name="${name}"
      type="${type}"
      value="${type === 'password' ? '' : (state.typed[name] ?? '')}"
      autocomplete="${autocomplete}"
      ${list === undefined ? '' : html`list="${list}"`}
      ${inputmode === undefined ? '' : html`inputmode="${inputmode}"`}
      ${isOptional ? '' : html`required`}
      ${described(state, options)}
    />`,
  )
}

/** A field for the current password, or for a new one. */
export function passwordField(
  { texts: { fields } }: WebPage,
  state: FormState,
  name: 'password' | 'currentPassword' | 'newPassword',
  options: { readonly label?: string; readonly isNew?: boolean; readonly id?: string } = {},
): Html {
  const { label = fields[name], isNew = name === 'newPassword', ...more } = options
  const kind = isNew
    ? { hint: fields.passwordHint, autocomplete: 'new-password' }
    : { autocomplete: 'current-password' }
  return field(state, { name, label, type: 'password', ...kind, ...more })
}

/** A hidden field. */
export function hidden({ typed }: Pick<FormState, 'typed'>, name: string): Html {
  return html`<input type="hidden" name="${name}" value="${typed[name] ?? ''}" />`
}

/** The field of a user's email. */
export function emailField({ texts: { fields } }: WebPage, state: FormState): Html {
  return field(state, { name: 'email', label: fields.email, type: 'email', autocomplete: 'username' })
}

/** The error of a field, with the id `<id>-error` for its `aria-describedby`. */
export function problem(id: string, error: string | undefined): Html {
  return error === undefined ? html`` : html`<span class="problem" id="${id}-error">${error}</span>`
}

/** A checkbox, never checked by default. The label may contain links. */
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

/**
 * A summary above a form with errors, linking to the first such field; `idPrefix` is the prefix of the fields' ids.
 */
export function formProblems(page: WebPage, { errors }: FormState, idPrefix = ''): Html {
  const [first] = Object.keys(errors)
  if (first === undefined) return html``
  return html`<p class="notice bad" role="alert">
    <a href="#${idPrefix}${first}">${page.texts.failures.summary}</a>
  </p>`
}

/** A page's path without its one-time notice. */
export function pathWithoutNotice(path: string): string {
  const [pathname = '', search = ''] = path.split('?')
  const parameters = new URLSearchParams(search)
  parameters.delete('notice')
  return parameters.size === 0 ? pathname : `${pathname}?${parameters.toString()}`
}

/** Why a form was rejected; empty when it was not. */
export function refusal(text: string | undefined): Html {
  return text === undefined ? html`` : html`<p class="notice bad" role="alert">${text}</p>`
}

/** Confirms the previous action, named by `?notice=`; an unknown name shows nothing. */
export function notice(page: WebPage): Html {
  const word = new URLSearchParams(page.path.split('?')[1]).get('notice')
  const { notices } = page.texts
  if (word === null || !Object.hasOwn(notices, word)) return html``
  return html`<p class="notice" role="status">${notices[word as keyof typeof notices]}</p>`
}

interface ButtonForm {
  readonly action: string
  /** Hidden values to send. */
  readonly fields?: Readonly<Record<string, string>>
  readonly label: string
  /** The name for screen readers, where several buttons of a page have the same label. */
  readonly spoken?: string
  readonly className?: '' | 'plain' | 'link' | 'danger'
}

/** An optional field of several lines. */
export function textArea(state: FormState, options: ControlOptions): Html {
  const { name, id = name } = options
  return labeled(
    state,
    options,
    // Browsers drop a line end directly after the tag, so one is added to protect the typed text.
    html`<textarea
      id="${id}"
      name="${name}"
      rows="2"
      autocomplete="off"
      autocapitalize="none"
      spellcheck="false"
      ${described(state, options)}
    >
${state.typed[name] ?? ''}</textarea>`,
  )
}

/** The options, by value. */
interface ChoiceOptions extends ControlOptions {
  readonly options: Readonly<Record<string, string>>
}

/** A select with a few options. */
export function choice(state: FormState, options: ChoiceOptions): Html {
  const { name, id = name } = options
  return labeled(
    state,
    options,
    html`<select id="${id}" name="${name}" ${described(state, options)}>
      ${Object.entries(options.options).map(
        ([value, label]) =>
          html`<option value="${value}" ${state.typed[name] === value ? html`selected` : ''}>
            ${label}
          </option>`,
      )}
    </select>`,
  )
}

/** Radio buttons for two or three options; the first is the default. */
export function radios(state: FormState, { name, label, options }: ChoiceOptions): Html {
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

/** Copies the text or value of an element. It stays hidden without script. */
export function copyButton({ texts: { shell } }: WebPage, elementId: string): Html {
  return html`<button type="button" class="plain" hidden data-copy="${elementId}" data-done="${shell.copied}">
    ${shell.copy}
  </button>`
}

/** A button that submits a form. */
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

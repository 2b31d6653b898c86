import { html } from 'hono/html'
import { newId } from '../../platform/new-id.ts'
import { emptyForm, field, form, type FormState } from '../../web/view/form.ts'
import type { Html } from '../../web/web-page.ts'
import { may, type DeskPage } from '../page.ts'

/** What can be done, by the last part of its path. */
export type FormName = 'note' | 'credit' | 'debit' | 'correct' | 'block' | 'unblock' | 'end-sessions'

/** A form that was sent and refused: what was typed is kept there and nowhere else. */
export interface SentForm {
  readonly name: FormName
  readonly state: FormState
}

interface Customer {
  readonly accountId: string
  readonly isBlocked: boolean
}

interface ActionTexts {
  readonly title: string
  readonly hint?: string
}

/** Makes the forms of a customer's page. */
function formsOf(page: DeskPage, { accountId }: Customer, sent: SentForm | undefined) {
  const { common } = page.texts
  const stateOf = (name: FormName): FormState => (sent?.name === name ? sent.state : emptyForm)
  const typed = (
    name: FormName,
    one: { readonly name: string; readonly label: string; readonly inputmode?: 'decimal' | 'numeric' },
  ): Html => field(stateOf(name), { ...one, id: `${name}-${one.name}` })
  return {
    roubles: (name: FormName, label = common.roubles): Html =>
      typed(name, { name: 'rub', label, inputmode: 'decimal' }),
    reason: (name: FormName, label = common.shownReason): Html => typed(name, { name: 'reason', label }),
    typed,
    action: (name: FormName, { title, hint }: ActionTexts, fields: Html): Html =>
      html`<section class="card">
        <h3>${title}</h3>
        ${hint === undefined ? '' : html`<p class="quiet">${hint}</p>`}
        ${form(
          page,
          `/customers/${accountId}/${name}`,
          html`<input type="hidden" name="formId" value="${newId()}" />
            ${fields}
            <div><button class="plain">${common.send}</button></div>`,
        )}
      </section>`,
  }
}

function moneyForms(page: DeskPage, { roubles, reason, typed, action }: ReturnType<typeof formsOf>): Html {
  const { customer: texts } = page.texts
  return html`${action('credit', { title: texts.credit }, html`${roubles('credit')} ${reason('credit')}`)}
  ${action('debit', { title: texts.debit }, html`${roubles('debit')} ${reason('debit')}`)}
  ${action(
    'correct',
    { title: texts.correct },
    html`${typed('correct', { name: 'request', label: texts.request })}
    ${typed('correct', { name: 'turn', label: texts.turn, inputmode: 'numeric' })}
    ${roubles('correct', texts.cost)} ${reason('correct')}`,
  )}`
}

function accessForms(
  page: DeskPage,
  { accountId, isBlocked }: Customer,
  { reason, action }: ReturnType<typeof formsOf>,
): Html {
  const { common, customer: texts } = page.texts
  const block = isBlocked
    ? action('unblock', { title: texts.unblock }, reason('unblock', common.ownReason))
    : action('block', { title: texts.block, hint: texts.blockHint }, reason('block', common.ownReason))
  return html`${block}
    ${action('end-sessions', { title: texts.endSessions }, reason('end-sessions', common.ownReason))}
    <section class="card">
      <h3>${page.texts.deletion.title}</h3>
      <p class="quiet">${page.texts.deletion.hint}</p>
      <p><a href="/customers/${accountId}/delete">${page.texts.deletion.open}</a></p>
    </section>`
}

function noteForm(page: DeskPage, { typed, action }: ReturnType<typeof formsOf>): Html {
  const { customer: texts } = page.texts
  return action(
    'note',
    { title: texts.note, hint: texts.noteHint },
    typed('note', { name: 'note', label: texts.note }),
  )
}

/** What an operator can do with a customer. */
export function customerActions(page: DeskPage, customer: Customer, sent: SentForm | undefined): Html {
  const forms = formsOf(page, customer, sent)
  return html`<h2>${page.texts.customer.actions}</h2>
    <div class="cards">
      ${may(page.role, 'note') ? noteForm(page, forms) : ''}
      ${may(page.role, 'money') ? moneyForms(page, forms) : ''}
      ${may(page.role, 'manage') ? accessForms(page, customer, forms) : ''}
    </div>`
}

import { html } from 'hono/html'
import { AccountError } from '../../accounts/accounts.ts'
import { currentCompany } from '../../documents/company-versions.ts'
import type { AccountReport } from '../../ledger/reports.ts'
import { longDay, money } from '../../web/format.ts'
import { pathPart, fieldSchemas, idField, readForm, says } from '../../web/http/read-form.ts'
import { showFailure } from '../../web/pages/failure.ts'
import { formProblems, notice, emptyForm, field, form, type FormState } from '../../web/view/form.ts'
import { titledPage } from '../../web/view/layout.ts'
import type { PageResponse, Html } from '../../web/web-page.ts'
import { may, type DeskPage, type ShowDeskPage } from '../page.ts'
import { shownTime } from '../view/desk-list.ts'
import { facts } from '../../web/view/data-table.ts'
import { addNote, endSessions, moveMoney } from '../../administration/account-acts.ts'
import { z } from 'zod'
import { correctCharge } from '../../administration/correct-charge.ts'
import { textLengthsMax } from '../../administration/text-lengths.ts'
import { parseRoubles } from '../../money/amount.ts'
import { seeOther } from '../../web/http/redirect.ts'
import { attempt } from '../view/shown-reason.ts'
import { newId } from '../../platform/new-id.ts'
import { customerTables } from './customer-tables.ts'

function summary(page: DeskPage, account: AccountReport, blockedAt: number | null): Html {
  const { customer } = page.texts
  const { language } = page
  return html`${
      blockedAt === null
        ? ''
        : html`<p class="notice bad">${customer.blockedSince(shownTime(page, blockedAt))}</p>`
    }
    <section class="card">
      ${facts([
        [customer.balance, money(account.balanceMicros, language)],
        [customer.available, money(account.availableMicros, language)],
        [customer.held, money(account.heldMicros, language)],
        [customer.debt, money(account.debtMicros, language)],
        [customer.risk, money(account.riskMicros, language)],
        [customer.paid, money(account.paidMicros, language)],
        [customer.since, longDay(account.createdAt, language, page.site.config.timeZone)],
        [page.texts.common.id, html`<code>${account.id}</code>`],
      ])}
    </section>`
}

/** A customer: money, requests, payments, members, keys, and operators' actions; also after a form was rejected. */
export async function showCustomer(page: DeskPage, sent?: SentForm): Promise<PageResponse> {
  const { site, texts, context } = page
  const accountId = pathPart(page)
  const account = await site.reports.account(accountId)
  if (account === undefined) return showFailure(page, 'notFound')
  const { build } = site.records
  const [company, [row]] = await Promise.all([
    currentCompany(site.records, accountId),
    site.records.all(build.selectFrom('accounts').select('blocked_at').where('id', '=', accountId)),
  ])
  const blockedAt = row?.blocked_at ?? null
  const companyCard = html`<section class="card">
    <h2>${texts.customer.company}</h2>
    <p>${company?.details.name}, ИНН ${company?.details.inn}</p>
  </section>`
  const view = titledPage(
    page,
    { title: account.email },
    html`${notice(page)} ${sent === undefined ? '' : formProblems(page, sent.state, `${sent.name}-`)}
    ${summary(page, account, blockedAt)} ${company === undefined ? '' : companyCard}
    ${customerActions(page, { accountId, isBlocked: blockedAt !== null }, sent)}
    ${await customerTables(page, accountId)}`,
  )
  return context.html(view, sent === undefined ? 200 : 422)
}

/** The possible actions, by the last part of their path. */
type FormName = 'note' | 'credit' | 'debit' | 'correct' | 'block' | 'unblock' | 'end-sessions'

/** A form that was submitted and rejected: only this form keeps its values. */
interface SentForm {
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

/** Creates the forms of a customer's page. */
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

/** The actions of an operator on a customer. */
function customerActions(page: DeskPage, customer: Customer, sent: SentForm | undefined): Html {
  const forms = formsOf(page, customer, sent)
  return html`<h2>${page.texts.customer.actions}</h2>
    <div class="cards">
      ${may(page.role, 'note') ? noteForm(page, forms) : ''}
      ${may(page.role, 'money') ? moneyForms(page, forms) : ''}
      ${may(page.role, 'manage') ? accessForms(page, customer, forms) : ''}
    </div>`
}

const reason = fieldSchemas.reason(textLengthsMax.reason)
const formId = idField
const reasonSchema = z.object({ reason })

/** Runs an action on a customer and returns to the page, which shows a refusal. */
function customerAction<Schema extends z.ZodObject>(
  name: FormName,
  schemaOf: (page: DeskPage) => Schema,
  act: (page: DeskPage, accountId: string, value: z.output<Schema>) => Promise<'done' | 'done-before'>,
): ShowDeskPage {
  return async (page: DeskPage) => {
    const accountId = pathPart(page)
    const sent = await readForm(page, schemaOf(page))
    if (!sent.isValid) return showCustomer(page, { name, state: sent.state })
    const { refused, done } = await attempt(page, () => act(page, accountId, sent.value))
    return refused === undefined
      ? seeOther(page, `/customers/${accountId}?notice=${done}`)
      : showCustomer(page, { name, state: { ...sent.state, errors: { reason: refused } } })
  }
}

/** Adds a note about the customer, visible only to operators. */
export const submitNote = customerAction(
  'note',
  () => z.object({ formId, note: reason }),
  async ({ site, operator }, accountId, { formId: id, note }) => {
    if ((await site.reports.account(accountId)) === undefined)
      throw new AccountError('account_not_found', `there is no account ${accountId}`)
    return (await addNote(site.records, { id, accountId, operator, note }, site.clock.now()))
      ? 'done'
      : 'done-before'
  },
)

function movement(kind: 'credit' | 'debit'): ShowDeskPage {
  return customerAction(
    kind,
    page => z.object({ formId, rub: fieldSchemas.someRoubles(page.language), reason }),
    async ({ site, operator }, accountId, value) => {
      const { isNew } = await moveMoney(
        site.records,
        {
          id: value.formId,
          kind,
          accountId,
          amountMicros: value.rub,
          reason: value.reason,
          operator,
        },
        site.clock.now(),
      )
      return isNew ? 'done' : 'done-before'
    },
  )
}

/** Credits money. */
export const submitCredit = movement('credit')

/** Debits available money. */
export const submitDebit = movement('debit')

/** Sets the cost of a request. */
export const submitCorrection = customerAction(
  'correct',
  () =>
    z.object({
      request: z.string(says('required')).trim().min(1, says('required')).max(60, says('tooLong')),
      turn: z
        .string()
        .default('')
        .transform(text => (text.trim() === '' ? '0' : text.trim()))
        .pipe(z.string().regex(/^\d{1,9}$/, says('invalid')))
        .transform(Number),
      // Zero is a valid amount here, and must be typed as 0.
      rub: z
        .string(says('required'))
        .trim()
        .transform(text => text.replaceAll(/[\s\u00A0]/g, '').replace(',', '.'))
        .pipe(z.string().regex(/^\d{1,9}(?:\.\d{1,6})?$/, says('amountInvalid'))),
      reason,
    }),
  async ({ site, operator }, accountId, { request, turn, rub, reason: why }) => {
    const correction = {
      accountId,
      requestId: request,
      sequence: turn,
      costMicros: parseRoubles(rub),
      reason: why,
      operator,
    }
    await correctCharge(site.records, correction, site.clock.now())
    return 'done'
  },
)

function block(isBlocked: boolean): ShowDeskPage {
  return customerAction(
    isBlocked ? 'block' : 'unblock',
    () => reasonSchema,
    async ({ site, operator }, accountId, { reason: why }) => {
      await site.accounts.setBlocked({ accountId, isBlocked, reason: why, operator })
      return 'done'
    },
  )
}

/** Blocks the account: refuses all its keys. */
export const submitBlock = block(true)

/** Ends a block. */
export const submitUnblock = block(false)

/** Signs out all users of the account. */
export const submitEndSessions = customerAction(
  'end-sessions',
  () => reasonSchema,
  async ({ site, operator }, accountId, { reason: why }) => {
    await endSessions(site.records, { accountId, reason: why, operator }, site.clock.now())
    return 'done'
  },
)

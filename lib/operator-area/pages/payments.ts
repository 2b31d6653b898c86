import { html } from 'hono/html'
import { z } from 'zod'
import { AccountError } from '../../accounts/accounts.ts'
import type { Payment } from '../../payments/payment-reader.ts'
import { formatRoubles } from '../../money/amount.ts'
import { isoTime, money, time } from '../../web/format.ts'
import { fieldSchemas, readForm, says } from '../../web/http/read-form.ts'
import { seeOther } from '../../web/http/redirect.ts'
import { showFailure } from '../../web/pages/failure.ts'
import { emptyForm, field, form, formProblems, notice } from '../../web/view/form.ts'
import type { FormState } from '../../web/view/form.ts'
import { layout } from '../../web/view/layout.ts'
import type { Html, PageContext } from '../../web/web-page.ts'
import { may } from '../page.ts'
import type { DeskPage } from '../page.ts'
import { refusalText } from '../view/said-by-code.ts'
import { dataTable } from '../view/data-table.ts'
import { dayFilters, listSection, momentsOf } from '../view/desk-list.ts'
import type { DeskList } from '../view/desk-list.ts'

const states = ['created', 'pending', 'succeeded', 'canceled'] as const

function paymentColumns(page: DeskPage): DeskList<Payment>['columns'] {
  const { payments: texts, common } = page.texts
  const { language } = page
  const number = (micros: number) => ({ number: formatRoubles(micros) })
  return [
    {
      name: common.at,
      sort: 'at',
      cell: one => time(one.created_at, language, page.site.config.timeZone),
      csv: one => isoTime(one.created_at, page.site.config.timeZone),
    },
    {
      name: common.id,
      cell: one => html`<a href="/payments/${one.id}"><code>${one.id}</code></a>`,
      csv: one => one.id,
    },
    {
      name: common.account,
      cell: one => html`<a href="/customers/${one.account_id}"><code>${one.account_id}</code></a>`,
      csv: one => one.account_id,
    },
    {
      name: texts.method,
      cell: one => one.method_title ?? one.method ?? '',
      csv: one => one.method_title ?? one.method ?? '',
    },
    { name: common.state, cell: one => texts.states[one.state], csv: one => texts.states[one.state] },
    {
      name: common.amount,
      sort: 'amount',
      cell: one => money(one.amount_micros, language),
      csv: one => number(one.amount_micros),
      isNumber: true,
    },
    {
      name: texts.refunded,
      cell: one => (one.refunded_micros === 0 ? '' : money(one.refunded_micros, language)),
      csv: one => number(one.refunded_micros),
      isNumber: true,
    },
    {
      name: texts.difference,
      cell: one => one.difference ?? one.failure ?? '',
      csv: one => one.difference ?? one.failure ?? '',
    },
    {
      name: '',
      cell: one =>
        may(page.role, 'money') && one.state === 'succeeded'
          ? html`<a href="/payments/${one.id}#rub">${texts.refund}</a>`
          : '',
    },
  ]
}

/** Payments as a table. */
export function paymentTable(page: DeskPage, payments: readonly Payment[]): Html {
  const { payments: texts, common } = page.texts
  return dataTable({ label: texts.title, empty: common.none }, paymentColumns(page), payments)
}

/** Payments, the latest first. */
export function paymentList(page: DeskPage): DeskList<Payment> {
  const { payments: texts, common } = page.texts
  const { site } = page
  const columns = paymentColumns(page)
  return {
    path: '/payments',
    label: texts.title,
    empty: common.none,
    filters: [
      {
        name: 'state',
        label: common.state,
        options: { '': texts.all, ...texts.states, differing: texts.difference },
      },
      { name: 'account', label: common.account },
      ...dayFilters(page),
    ],
    columns,
    read({ filters, sort, isDescending, limit, offset }) {
      const { state = '', account = '' } = filters
      const { from, until } = momentsOf(page, filters)
      const known = states.find(one => one === state)
      return site.payments.payments({
        ...(known !== undefined && { state: known }),
        ...(state === 'differing' && { isDifferent: true }),
        ...(account !== '' && { accountId: account }),
        ...(from !== undefined && { createdFrom: from }),
        ...(until !== undefined && { createdUntil: until }),
        ...(sort === 'amount' && { sort }),
        isAscending: !isDescending,
        limit,
        offset,
      })
    },
  }
}

/** All payments. */
export async function showPayments(context: PageContext, page: DeskPage): Promise<Response> {
  const { payments: texts } = page.texts
  const { view, status } = await listSection(context, page, paymentList(page))
  return context.html(
    layout(
      page,
      { title: texts.title },
      html`<h1>${texts.title}</h1>
        ${view}`,
    ),
    status,
  )
}

async function paymentView(page: DeskPage, id: string, state: FormState): Promise<Html | undefined> {
  const { payments: texts, common } = page.texts
  const { site, language } = page
  const payment = await site.payments.payment(id)
  if (payment === undefined) return undefined
  const refunds = await site.payments.refundsOf(id)
  const mayRefund =
    may(page.role, 'money') && site.paymentActions !== undefined && payment.state === 'succeeded'
  return layout(
    page,
    { title: texts.title },
    html`<h1>${texts.title}</h1>
      ${notice(page)} ${formProblems(page, state)}
      <section class="card">${paymentTable(page, [payment])}</section>
      <section class="card">
        <h2>${texts.refunded}</h2>
        ${dataTable(
          { label: texts.refunded, empty: common.none },
          [
            { name: common.at, cell: one => time(one.created_at, language, page.site.config.timeZone) },
            { name: common.state, cell: one => texts.states[one.state] },
            { name: common.reason, cell: one => one.reason },
            { name: common.amount, cell: one => money(one.amount_micros, language), isNumber: true },
          ],
          refunds,
        )}
      </section>
      ${
        mayRefund
          ? html`<section class="card">
              <h2>${texts.refundOf(id)}</h2>
              ${form(
                page,
                `/payments/${id}/refund`,
                html`${field(state, { name: 'rub', label: common.roubles, inputmode: 'decimal' })}
                  ${field(state, { name: 'reason', label: common.shownReason })}
                  <div><button class="danger">${texts.refund}</button></div>`,
              )}
            </section>`
          : ''
      }`,
  )
}

/** A payment with its refunds. */
export async function showPayment(context: PageContext, page: DeskPage): Promise<Response> {
  const view = await paymentView(page, context.req.param('id') ?? '', emptyForm)
  return view === undefined ? showFailure(context, page, 'notFound') : context.html(view)
}

/** Sends money back that is not spent. */
export async function submitRefund(context: PageContext, page: DeskPage): Promise<Response> {
  const { site, session, language } = page
  const id = context.req.param('id') ?? ''
  const payment = await site.payments.payment(id)
  if (payment === undefined || site.paymentActions === undefined)
    return showFailure(context, page, 'notFound')
  const schema = z.object({
    rub: fieldSchemas.roubles(language).refine(micros => micros !== undefined, says('required')),
    reason: fieldSchemas.reason(128),
  })
  const sent = await readForm(context, page, schema)
  const refuse = async (state: FormState): Promise<Response> => {
    const view = await paymentView(page, id, state)
    return view === undefined ? showFailure(context, page, 'notFound') : context.html(view, 422)
  }
  if (!sent.isValid) return refuse(sent.state)
  const { rub: amountMicros, reason } = sent.value
  try {
    await site.paymentActions.refundPayment({
      paymentId: id,
      amountMicros,
      reason,
      operator: session.user.email,
    })
  } catch (error) {
    if (!(error instanceof AccountError)) throw error
    return refuse({ ...sent.state, errors: { rub: refusalText(page, error) } })
  }
  return seeOther(context, `/payments/${id}?notice=done`)
}

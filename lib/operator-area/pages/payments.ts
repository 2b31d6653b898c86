import { html } from 'hono/html'
import { z } from 'zod'
import { textLengthsMax } from '../../administration/text-lengths.ts'
import type { Payment } from '../../payments/payment-reader.ts'
import { money, named } from '../../web/format.ts'
import { fieldSchemas, pathPart, readForm } from '../../web/http/read-form.ts'
import { seeOther } from '../../web/http/redirect.ts'
import { showFailure } from '../../web/pages/failure.ts'
import { emptyForm, field, form, formProblems, notice, type FormState } from '../../web/view/form.ts'
import { titledPage } from '../../web/view/layout.ts'
import type { PageResponse } from '../../web/web-page.ts'
import { may, type DeskPage } from '../page.ts'
import { attempt } from '../view/shown-reason.ts'
import { dataTable } from '../../web/view/data-table.ts'
import {
  dayFilters,
  accountColumn,
  amountColumn,
  shownTime,
  textColumn,
  timeColumn,
  momentsOf,
  tableCard,
} from '../view/desk-list.ts'
import type { DeskList } from '../view/desk-list.ts'

const states = ['created', 'pending', 'succeeded', 'canceled'] as const

/** The columns of payments. */
export function paymentColumns(page: DeskPage): DeskList<Payment>['columns'] {
  const { payments: texts, common } = page.texts
  return [
    timeColumn(page, one => one.created_at, { sort: 'at' }),
    {
      name: common.id,
      cell: one => html`<a href="/payments/${one.id}"><code>${one.id}</code></a>`,
      csv: one => one.id,
    },
    accountColumn(page, one => one.account_id),
    textColumn(texts.method, one => one.method_title ?? named(texts.methods, one.method ?? '')),
    textColumn(common.state, one => texts.states[one.state]),
    amountColumn(page, common.amount, one => one.amount_micros, { sort: 'amount' }),
    amountColumn(page, texts.refunded, one => one.refunded_micros, {
      shown: (micros, language) => (micros === 0 ? '' : money(micros, language)),
    }),
    textColumn(texts.difference, one => one.difference ?? one.failure ?? ''),
    {
      name: '',
      cell: one =>
        may(page.role, 'money') && one.state === 'succeeded'
          ? html`<a href="/payments/${one.id}#rub">${texts.refund}</a>`
          : '',
    },
  ]
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

/** A payment with its refunds, and the refund form. */
export async function showPayment(page: DeskPage, sent?: FormState): Promise<PageResponse> {
  const id = pathPart(page)
  const state = sent ?? emptyForm
  const { payments: texts, common } = page.texts
  const { site, language } = page
  const payment = await site.payments.payment(id)
  if (payment === undefined) return showFailure(page, 'notFound')
  const refunds = await site.payments.refundsOf(id)
  const mayRefund =
    may(page.role, 'money') && site.paymentActions !== undefined && payment.state === 'succeeded'
  const view = titledPage(
    page,
    { title: texts.title },
    html`${notice(page)} ${formProblems(page, state)}
      <section class="card">
        ${dataTable({ label: texts.title, empty: common.none }, paymentColumns(page), [payment])}
      </section>
      ${tableCard(
        page,
        { title: texts.refunded },
        [
          { name: common.at, cell: one => shownTime(page, one.created_at) },
          { name: common.state, cell: one => texts.states[one.state] },
          { name: common.reason, cell: one => one.reason },
          { name: common.amount, cell: one => money(one.amount_micros, language), isNumber: true },
        ],
        refunds,
      )}
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
  return page.context.html(view, sent === undefined ? 200 : 422)
}

/** Refunds an unspent amount. */
export async function submitRefund(page: DeskPage): Promise<PageResponse> {
  const { site, operator, language } = page
  const id = pathPart(page)
  const { paymentActions: actions } = site
  if (actions === undefined || (await site.payments.payment(id)) === undefined)
    return showFailure(page, 'notFound')
  const schema = z.object({
    rub: fieldSchemas.someRoubles(language),
    reason: fieldSchemas.reason(textLengthsMax.refundReason),
  })
  const sent = await readForm(page, schema)
  if (!sent.isValid) return showPayment(page, sent.state)
  const { rub: amountMicros, reason } = sent.value
  const refund = { paymentId: id, amountMicros, reason, operator }
  const { refused } = await attempt(page, () => actions.refundPayment(refund))
  return refused === undefined
    ? seeOther(page, `/payments/${id}?notice=done`)
    : showPayment(page, { ...sent.state, errors: { rub: refused } })
}

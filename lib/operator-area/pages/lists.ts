import { html } from 'hono/html'
import { formatRoubles } from '../../money/amount.ts'
import { searchAccounts, type FoundAccount } from '../../stores/records/find-accounts.ts'
import { smallMoney, named, exactRoubles } from '../../web/format.ts'
import type { DeskPage } from '../page.ts'
import {
  accountColumn,
  amountColumn,
  textColumn,
  timeColumn,
  dayFilters,
  momentsOf,
  wordsColumn,
} from '../view/desk-list.ts'
import type { DeskList } from '../view/desk-list.ts'
import { actionReason, movementReason } from '../view/shown-reason.ts'
import type { Movement } from '../../payments/movements.ts'
import { searchCharges, type ListedCharge } from '../../stores/records/desk-queries.ts'
import { findActions } from '../../administration/operator-log.ts'
import type { OperatorActionRow } from '../../stores/records/operator-tables.ts'

/** Customers, the newest first. */
export function customerList(page: DeskPage): DeskList<FoundAccount> {
  const { customers, common } = page.texts
  const { site } = page
  return {
    path: '/customers',
    label: customers.title,
    empty: customers.empty,
    filters: [
      { name: 'q', label: customers.search },
      {
        name: 'state',
        label: common.state,
        options: { '': common.all, blocked: customers.blocked, indebted: customers.indebted },
      },
    ],
    columns: [
      {
        name: customers.created,
        sort: 'created',
        cell: one => html`<a href="/customers/${one.id}"><code>${one.id}</code></a>`,
        csv: one => one.id,
      },
      textColumn(common.email, one => one.email ?? '', 'email'),
      textColumn(common.name, one => one.name ?? ''),
      amountColumn(page, customers.balance, one => one.balanceMicros, { sort: 'balance' }),
      {
        name: common.state,
        cell: one =>
          one.blockedAt === null ? '' : html`<span class="badge bad">${customers.blocked}</span>`,
        csv: one => (one.blockedAt === null ? '' : customers.blocked),
      },
    ],
    read({ filters, sort, isDescending, limit, offset }) {
      const only = (['blocked', 'indebted'] as const).find(one => one === filters['state'])
      const by = (['created', 'email', 'balance'] as const).find(one => one === sort)
      const order = { ...(by !== undefined && { sort: by }), isDescending }
      return searchAccounts(site.records, { text: filters['q'] ?? '', only, ...order, limit, offset })
    },
  }
}

/** The columns of an account's movements. */
export function movementColumns(page: DeskPage): DeskList<Movement>['columns'] {
  const { customer, common } = page.texts
  return [
    timeColumn(page, one => one.at),
    { name: customer.kind, cell: one => named(customer.kinds, one.kind), csv: one => one.kind },
    amountColumn(page, common.amount, one => one.amountMicros, { shown: smallMoney }),
    amountColumn(page, customer.after, one => one.balanceMicros, { shown: smallMoney }),
    wordsColumn(common.reason, one => movementReason(page, one)),
  ]
}

/** All movements of an account other than charges, the latest first. */
export function movementList(page: DeskPage): DeskList<Movement> {
  const { customer, common } = page.texts
  return {
    path: '/movements',
    label: customer.movements,
    empty: common.none,
    filters: [{ name: 'account', label: common.account }],
    columns: movementColumns(page),
    read: ({ filters: { account = '' }, limit, offset }) =>
      page.site.movements.page(account, { limit, offset }),
  }
}

/** Charged requests of all customers, the latest first. */
export function requestList(page: DeskPage): DeskList<ListedCharge> {
  const { customer, common, requests } = page.texts
  const { site } = page
  const text = (one: 'requestId' | 'keyId' | 'provider' | 'model') => (row: ListedCharge) => row[one]
  return {
    path: '/requests',
    label: requests.title,
    empty: common.none,
    hint: requests.hint,
    filters: [
      { name: 'request', label: customer.request },
      { name: 'account', label: common.account },
      { name: 'model', label: customer.model },
      { name: 'outcome', label: customer.outcome, options: { '': common.all, ...requests.outcomes } },
      ...dayFilters(page),
    ],
    columns: [
      timeColumn(page, one => one.at, { sort: 'at' }),
      { name: customer.request, cell: one => html`<code>${one.requestId}</code>`, csv: text('requestId') },
      accountColumn(page, one => one.accountId),
      { name: requests.key, cell: one => html`<code>${one.keyId}</code>`, csv: text('keyId') },
      { name: customer.model, cell: one => html`<bdi>${one.model}</bdi>`, csv: text('model') },
      textColumn(customer.provider, text('provider')),
      { name: customer.outcome, cell: one => named(requests.outcomes, one.outcome), csv: one => one.outcome },
      amountColumn(page, common.amount, one => one.amountMicros, {
        shown: (micros, language) => exactRoubles(formatRoubles(micros), language),
      }),
    ],
    read({ filters, isDescending, limit, offset }) {
      const { request: requestId = '', account: accountId = '', model = '', outcome = '' } = filters
      const found = { requestId, accountId, model, outcome, ...momentsOf(page, filters) }
      return searchCharges(site.records, { ...found, isDescending, limit, offset })
    },
  }
}

/** The columns of the operator log. */
export function actionColumns(page: DeskPage): DeskList<OperatorActionRow>['columns'] {
  const { log, common } = page.texts
  return [
    timeColumn(page, one => one.at, { sort: 'at' }),
    textColumn(log.who, one => one.operator),
    textColumn(log.what, one => log.actions[one.action]),
    accountColumn(page, one => one.account_id),
    wordsColumn(common.reason, one => actionReason(page, one)),
  ]
}

/** Operators' actions, the latest first. */
export function actionList(page: DeskPage): DeskList<OperatorActionRow> {
  const { log, common } = page.texts
  return {
    path: '/log',
    label: log.title,
    empty: common.none,
    filters: [
      { name: 'operator', label: log.who },
      { name: 'action', label: log.what, options: { '': common.all, ...log.actions } },
      { name: 'account', label: common.account },
      ...dayFilters(page),
    ],
    columns: actionColumns(page),
    read: query => findActions(page.site.records, { ...query, ...momentsOf(page, query.filters) }),
  }
}

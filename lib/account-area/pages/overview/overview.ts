import { html } from 'hono/html'
import { budgetDay } from '../../../ledger/key-spending.ts'
import type { Balance } from '../../../ledger/ledger.ts'
import type { ChargeReport } from '../../../ledger/reports.ts'
import { count, debtMoney, money, spentMoney, alignDecimals, smallMoney, time } from '../../../web/format.ts'
import type { PageResponse, Html, OwnPage } from '../../page.ts'
import { notice } from '../../../web/view/form.ts'
import { dataTable, figure } from '../../../web/view/data-table.ts'
import { titledPage } from '../../../web/view/layout.ts'
import { spendingChart, spendingByDay, sum, type Spending } from './spending-chart.ts'
import { parseRoubles } from '../../../money/amount.ts'

const daysShown = 30
const chargesShown = 8
const nothing = { balanceMicros: 0, debtMicros: 0, heldMicros: 0, availableMicros: 0 }
type ShownBalance = Pick<Balance, keyof typeof nothing>

function balanceCard({ texts, language }: OwnPage, shown: ShownBalance): Html {
  const { balanceMicros, debtMicros, heldMicros, availableMicros } = shown
  const { overview } = texts
  // Amounts that are zero, or equal to another one, are not shown.
  const held = html`${figure(overview.balance, money(balanceMicros, language))}
  ${figure(overview.held, money(heldMicros, language))}`
  return html`<section class="card">
    <dl class="figures">
      ${figure(overview.available, money(Math.max(0, availableMicros), language), { isMain: true })}
      ${heldMicros === 0 ? '' : held}
    </dl>
    ${debtMicros === 0 ? '' : html`<p class="notice"><strong>${overview.debt(debtMoney(debtMicros, language))}</strong></p>`}
    ${heldMicros === 0 ? '' : html`<p class="quiet small">${overview.heldHint}</p>`}
    <p><a class="button plain" href="/balance">${overview.topUp}</a></p>
  </section>`
}

function spendingCard(page: OwnPage, spending: Spending): Html {
  const { overview } = page.texts
  const last = (label: string, days: number): Html =>
    figure(label, spentMoney(sum(spending.microsByDay.slice(-days)), page.language), {
      note: overview.requests(count(sum(spending.chargesByDay.slice(-days)), page.language)),
    })
  return html`<section class="card">
    <h2>${overview.spending}</h2>
    <dl class="figures">
      ${last(overview.today, 1)}${last(overview.days(7), 7)}${last(overview.days(30), 30)}
    </dl>
    ${spendingChart(page, spending)}
  </section>`
}

/** The names of the keys of a few charges; for an unnamed key its last characters. */
async function keyNames(
  { site, account, texts }: OwnPage,
  charges: readonly ChargeReport[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(charges.map(({ key }) => key))]
  const keys = await Promise.all(ids.map(id => site.reports.key(account.accountId, id)))
  return new Map(
    keys.flatMap(key =>
      key === undefined ? [] : [[key.id, key.name === '' ? texts.keys.ending(key.lastFour) : key.name]],
    ),
  )
}

function invitationNotice({ texts: { accounts } }: OwnPage): Html {
  return html`<p class="notice">${accounts.waiting} <a href="/accounts">${accounts.look}</a></p>`
}

/** Steps that a new customer has completed. */
interface Done {
  readonly hasKey: boolean
  readonly hasMoney: boolean
}

/** The next steps for an account without charges. */
function firstSteps({ texts }: OwnPage, { hasKey, hasMoney }: Done): Html {
  const { overview } = texts
  const { steps } = overview
  const step = (
    { title, text }: { readonly title: string; readonly text: string },
    isDone: boolean,
    action: Html | string,
  ): Html =>
    html`<li>
      <h3>${title} ${isDone ? html`<span class="badge good">${overview.isDone}</span>` : ''}</h3>
      <p class="quiet">${text}</p>
      ${isDone ? '' : action}
    </li>`
  const link = (path: string, label: string, isNext: boolean): Html =>
    html`<p><a class="button ${isNext ? '' : 'plain'}" href="${path}">${label}</a></p>`
  return html`<section class="card">
    <h2>${overview.start}</h2>
    <ol class="steps">
      ${step(steps.key, hasKey, link('/keys/new', overview.makeKey, true))}
      ${step(steps.money, hasMoney, link('/balance', overview.topUp, hasKey))}
      ${step(steps.quickStart, false, link('/quick-start', overview.quickStart, hasKey && hasMoney))}
    </ol>
  </section>`
}

/** The newest charges, each with a link to its details. */
function lastRequests(
  page: OwnPage,
  charges: readonly ChargeReport[],
  keyNames: ReadonlyMap<string, string>,
): Html {
  const { overview } = page.texts
  const amounts = alignDecimals(charges.map(({ amount }) => smallMoney(parseRoubles(amount), page.language)))
  const link = ({ requestId, at, model }: ChargeReport): Html => {
    const when = time(Date.parse(at), page.language)
    return html`<a href="/charges/${encodeURIComponent(requestId)}" aria-label="${overview.open(model, when)}"
      >${when}</a
    >`
  }
  return html`<section class="card">
    <div class="row between">
      <h2>${overview.last}</h2>
      <a href="/charges">${overview.all}</a>
    </div>
    ${dataTable(
      { label: overview.last, empty: '' },
      [
        { name: overview.time, cell: ({ charge }) => link(charge) },
        { name: overview.model, cell: ({ charge }) => charge.model },
        {
          name: overview.key,
          cell: ({ charge }) => html`<bdi>${keyNames.get(charge.key) ?? ''}</bdi>`,
          isWide: true,
        },
        { name: overview.amount, cell: ({ amount }) => amount, isNumber: true },
      ],
      charges.map((charge, index) => ({ charge, amount: amounts[index] ?? '' })),
    )}
  </section>`
}

/** The balance, the spending by model, and first steps for a new account. */
export async function showOverview(page: OwnPage): Promise<PageResponse> {
  const { site, session, account, texts } = page
  const { reports } = site
  const { accountId } = account
  const today = budgetDay(site.clock.now())
  const [balance = nothing, rows, charges, activeKeys, invitations] = await Promise.all([
    reports.balance(accountId),
    reports.modelSpending(accountId, today - daysShown + 1),
    reports.latestCharges(accountId, chargesShown),
    reports.keyUses(accountId, { isRevoked: false, limit: 1 }),
    site.members.invitations({ email: session.user.email }),
  ])
  const hasKey = activeKeys.length > 0
  return titledPage(
    page,
    { title: texts.overview.title },
    html`${notice(page)}${invitations.length > 0 ? invitationNotice(page) : ''}${balanceCard(page, balance)}
    ${
      charges.length === 0
        ? firstSteps(page, { hasKey, hasMoney: balance.balanceMicros > 0 })
        : html`${spendingCard(page, spendingByDay(rows, today, daysShown))}
          ${lastRequests(page, charges, await keyNames(page, charges))}`
    }`,
  )
}

import { html } from 'hono/html'
import type { Movement, MovementPlace } from '../../../payments/movements.ts'
import { money, smallMoney, time, isoDay, isoTime } from '../../../web/format.ts'
import type { PageResponse, Html, OwnPage } from '../../page.ts'
import type { Texts } from '../../texts/texts.ts'
import { cardTable } from '../../../web/view/data-table.ts'
import { csvHeaders, csvTable } from '../../../documents/csv-table.ts'
import { formatRoubles } from '../../../money/amount.ts'

/** The number of movements on a page. */
export const movementsShown = 20

type Named = Pick<Movement, 'id' | 'kind' | 'reason'>

/** Movements whose reason is for bookkeeping and does not help the customer. */
const ownReason = /^(?:payment|starting|refund-canceled|transfer):/

/** More movements than an account is likely to have. */
const csvRowsMax = 10_000

/** Which payments among the movements were automatic. */
async function automaticAmong(
  { site }: OwnPage,
  movements: readonly Movement[],
): Promise<ReadonlySet<string>> {
  const ids = movements.flatMap(movement => paymentIdOf(movement) ?? [])
  return new Set(await site.payments?.rows.automaticAmong(ids))
}

/** The position that `?before=` names; undefined for the newest. */
export function placeOf(text: string | undefined): MovementPlace | undefined {
  const match = /^(\d{1,15})\.([^\p{Cc}\p{Cs}]{1,300})$/u.exec(text ?? '')
  return match === null ? undefined : { at: Number(match[1]), id: match[2] ?? '' }
}

function row(page: OwnPage, movement: Movement, automatic: ReadonlySet<string>): Html {
  const { amountMicros, balanceMicros, at } = movement
  const payment = paymentIdOf(movement)
  const name = movementName(page.texts, movement, automatic.has(payment ?? ''))
  const reason = movementReason(movement)
  return html`<tr role="row">
    <td role="cell" class="charge-time">${time(at, page.language)}</td>
    <td role="cell" class="movement-name">
      ${payment === undefined ? name : html`<a href="/balance/payments/${payment}">${name}</a>`}
      ${reason === undefined ? '' : html`<span class="quiet small">${reason}</span>`}
    </td>
    <td role="cell" class="charge-amount number">
      ${amountMicros > 0 ? '+' : ''}${smallMoney(amountMicros, page.language)}
    </td>
    <td role="cell" class="movement-after number quiet">
      <span class="in-card">${page.texts.balance.after}: </span>${money(balanceMicros, page.language)}
    </td>
  </tr>`
}

function table(page: OwnPage, movements: readonly Movement[], automatic: ReadonlySet<string>): Html {
  const { balance } = page.texts
  const columns = [
    { name: balance.time },
    { name: balance.what },
    { name: balance.change, isNumber: true },
    { name: balance.after, isNumber: true },
  ]
  const rows = movements.map(movement => row(page, movement, automatic))
  return cardTable(balance.history, 'charges movements', columns, rows)
}

/** All movements other than charges, the newest first; one row more than shown means that there are older ones. */
export async function history(
  page: OwnPage,
  movements: readonly Movement[],
  isOlder: boolean,
): Promise<Html> {
  const { balance } = page.texts
  const shown = movements.slice(0, movementsShown)
  const last = movements.length > movementsShown ? shown.at(-1) : undefined
  const next = last === undefined ? undefined : encodeURIComponent(`${last.at}.${last.id}`)
  const links = [
    ...(isOlder ? [html`<a href="/balance">${balance.newest}</a>`] : []),
    ...(next === undefined ? [] : [html`<a rel="next" href="/balance?before=${next}">${balance.older}</a>`]),
  ]
  return html`<section class="card">
    <div class="row between">
      <h2>${balance.history}</h2>
      ${movements.length === 0 ? '' : html`<a href="/balance.csv" download>${balance.csv}</a>`}
    </div>
    ${movements.length === 0 ? html`<p class="quiet">${balance.empty}</p>` : table(page, shown, await automaticAmong(page, shown))}
    ${links.length === 0 ? '' : html`<p class="row">${links}</p>`}
  </section>`
}

/** The payment that a movement credits. */
function paymentIdOf({ id }: Pick<Movement, 'id'>): string | undefined {
  return /^payment:([0-9a-z]{26})$/.exec(id)?.[1]
}

/** The reason, where a person wrote it. */
function movementReason({ id, kind, reason }: Named): string | undefined {
  return reason === null || kind === 'repayment' || ownReason.test(id) ? undefined : reason
}

/** The name of a movement for the user. */
function movementName({ balance }: Texts, { id, kind }: Named, isAutomatic: boolean): string {
  const { kinds } = balance
  if (id.startsWith('payment:')) return isAutomatic ? kinds.automatic : kinds.payment
  if (id.startsWith('refund:')) return kinds.refund
  if (id.startsWith('refund-canceled:')) return kinds.refundCanceled
  if (id.startsWith('starting:')) return kinds.starting
  if (id.startsWith('transfer:')) return kind === 'debit' ? kinds.transferUndone : kinds.transfer
  if (kind === 'repayment') return kinds.repayment
  if (kind === 'correction') return kinds.correction
  return kind === 'debit' ? kinds.debit : kinds.credit
}

/** All movements other than charges, as a CSV table. */
export async function downloadBalance(page: OwnPage): Promise<PageResponse> {
  const { site, account, texts } = page
  const { balance } = texts
  const movements = await site.movements.page(account.accountId, { limit: csvRowsMax })
  const automatic = await automaticAmong(page, movements)
  const rows = movements.map(movement => {
    const name = movementName(texts, movement, automatic.has(paymentIdOf(movement) ?? ''))
    const reason = movementReason(movement)
    return [
      isoTime(movement.at),
      reason === undefined ? name : `${name}: ${reason}`,
      movement.id,
      { number: formatRoubles(movement.amountMicros) },
      { number: formatRoubles(movement.balanceMicros) },
    ]
  })
  const head = [balance.time, balance.what, 'ID', balance.change, balance.after]
  return page.context.body(
    csvTable([head, ...rows]),
    200,
    csvHeaders(balance.fileName, isoDay(site.clock.now())),
  )
}

import { html } from 'hono/html'
import { z } from 'zod'
import { textLengthsMax } from '../../administration/text-lengths.ts'
import { assignTransfer, returnTransfer, undoTransfer, findTransfers } from '../../documents/transfers.ts'
import { DocumentError } from '../../documents/document.ts'
import { listInvoices } from '../../documents/invoices.ts'
import { importStatement } from '../../documents/import-statement.ts'
import { moscowDay } from '../../ledger/moscow-days.ts'
import { microsPerKopeck } from '../../money/kopecks.ts'
import { seenText } from '../../platform/seen-text.ts'
import { comparableNumber } from '../../statements/match-payment.ts'
import type { TransferRow } from '../../stores/records/document-tables.ts'
import { named } from '../../web/format.ts'
import { fieldSchemas, hiddenField, pathPart, readForm } from '../../web/http/read-form.ts'
import { seeOther } from '../../web/http/redirect.ts'
import { checkbox, emptyForm, form } from '../../web/view/form.ts'
import type { PageResponse, Html } from '../../web/web-page.ts'
import { may, type DeskPage, type ShowDeskPage } from '../page.ts'
import { amountColumn, showList, textColumn, wordsColumn, type DeskList } from '../view/desk-list.ts'
import { attempt } from '../view/shown-reason.ts'

const decisionSchema = z.object({
  account: hiddenField(60),
  invoice: hiddenField(60),
  note: fieldSchemas.note(textLengthsMax.transferNote).default(''),
})

function decision(page: DeskPage, id: string, name: string, label: string, more: Html): Html {
  const { ownReason } = page.texts.common
  return form(
    page,
    `/transfers/${id}/${name}`,
    html`${more}<input
        name="note"
        aria-label="${ownReason}"
        placeholder="${ownReason}"
        maxlength="${textLengthsMax.transferNote}"
      /><button class="link">${label}</button>`,
    { className: 'row' },
  )
}

function decisions(page: DeskPage, { id, state, suggestions }: TransferRow): Html {
  const { transfers, common } = page.texts
  if (!may(page.role, 'money')) return html``
  if (state !== 'queued') return decision(page, id, 'undo', transfers.undo, html``)
  const [first] = JSON.parse(suggestions) as readonly string[]
  return html`${decision(
    page,
    id,
    'assign',
    transfers.assign,
    html`<input
        name="account"
        class="mono"
        aria-label="${common.account}"
        placeholder="${common.account}"
        value="${first ?? ''}"
      /><input
        name="invoice"
        aria-label="${transfers.invoice}"
        placeholder="${transfers.invoice}"
        maxlength="60"
      />`,
  )}
  ${decision(page, id, 'return', transfers.return, html``)}`
}

const states = ['queued', 'credited', 'returned'] as const

/** Bank transfers, the latest first; by default those that need a decision. */
export function transferList(page: DeskPage): DeskList<TransferRow> {
  const { transfers, common } = page.texts
  const { site } = page
  const { queued, ...decided } = transfers.states
  return {
    path: '/transfers',
    label: transfers.title,
    empty: common.none,
    filters: [
      { name: 'state', label: common.state, options: { '': queued, ...decided, all: common.all } },
      { name: 'q', label: transfers.search },
    ],
    columns: [
      {
        name: common.at,
        sort: 'day',
        cell: one => html`<span class="day">${one.received_on}</span>`,
        csv: one => one.received_on,
      },
      {
        name: transfers.payer,
        cell: one => html`<bdi>${one.payer_name}</bdi> ${one.payer_inn}`,
        csv: one => `${one.payer_name} ${one.payer_inn}`,
      },
      wordsColumn(transfers.purpose, one => one.purpose),
      amountColumn(page, common.amount, one => one.amount_kopecks * microsPerKopeck, { sort: 'amount' }),
      {
        name: common.state,
        cell: one =>
          [
            transfers.states[one.state],
            ...(one.state === 'queued' ? [named(transfers.reasons, one.reason)] : []),
          ].join(': '),
        csv: one => transfers.states[one.state],
      },
      textColumn(common.account, one => one.account_id ?? ''),
      { name: '', cell: one => decisions(page, one) },
    ],
    read({ filters: { state = '', q = '' }, sort, isDescending, limit, offset }) {
      const known = state === 'all' ? undefined : (states.find(one => one === state) ?? 'queued')
      const by = sort === 'amount' ? 'amount' : 'day'
      return findTransfers(site.records, { state: known, text: q, sort: by, isDescending, limit, offset })
    },
  }
}

function importForm(page: DeskPage): Html {
  const { transfers } = page.texts
  if (!may(page.role, 'money')) return html``
  if (page.site.config.seller === undefined) return html`<p class="quiet">${transfers.noSeller}</p>`
  return html`<section class="card">
    <h2>${transfers.import}</h2>
    <form method="post" action="/transfers/import" enctype="multipart/form-data" class="stack">
      <input type="hidden" name="csrf" value="${page.csrf}" />
      <div class="field">
        <label for="file">${transfers.file}</label>
        <input id="file" name="file" type="file" required />
      </div>
      ${checkbox(emptyForm, { name: 'dryRun', label: transfers.dryRun })}
      <div><button>${transfers.importIt}</button></div>
    </form>
  </section>`
}

/** Bank transfers, and the form that imports bank statements. */
export function showTransfers(
  page: DeskPage,
  outcome: { readonly said?: string; readonly refused?: string } = {},
): Promise<PageResponse> {
  return showList(page, transferList(page), { above: importForm(page), ...outcome })
}

/** Imports a bank statement, or shows what importing it would do. */
export async function submitStatement(page: DeskPage): Promise<PageResponse> {
  const { site, operator, texts, context } = page
  const { seller } = site.config
  const { file, dryRun } = await context.req.parseBody()
  if (seller === undefined) return showTransfers(page, { refused: texts.transfers.noSeller })
  if (!(file instanceof File) || file.size === 0)
    return showTransfers(page, { refused: texts.transfers.noFile })
  const isDryRun = dryRun === 'yes'
  const at = site.clock.now()
  const bytes = new Uint8Array(await file.arrayBuffer())
  const by = { operator, fileName: seenText(file.name) }
  const { refused, done } = await attempt(page, () =>
    importStatement(site.records, seller, { bytes, at, isDryRun, by }),
  )
  if (refused !== undefined) return showTransfers(page, { refused })
  const { documents, credited, queued, repeated } = done
  const found = texts.transfers.found(documents, credited.length, queued.length, repeated)
  return showTransfers(page, { said: isDryRun ? `${texts.transfers.wouldBe} ${found}` : found })
}

/** The destination of a transfer: an account, or its newest invoice with the entered number. */
async function destination(
  { site }: DeskPage,
  { account, invoice }: { readonly account: string; readonly invoice: string },
): Promise<Parameters<typeof assignTransfer>[1]['to']> {
  const number = comparableNumber(invoice.replaceAll(/[№\s]/g, ''))
  if (number === '') return { accountId: account }
  const today = moscowDay(site.clock.now())
  const made = await listInvoices(site.records, today, { accountId: account })
  const found = made.find(one => one.state !== 'canceled' && comparableNumber(one.document.number) === number)
  if (found !== undefined) return { invoiceId: found.id }
  throw new DocumentError('invoice_not_found', `the account ${account} has no invoice ${number}`, {
    id: number,
  })
}

/** Applies a decision on a transfer and logs it; the page shows a refusal. */
function decide(run: typeof assignTransfer): ShowDeskPage {
  return async page => {
    const { site, operator, texts } = page
    const sent = await readForm(page, decisionSchema)
    if (!sent.isValid) return showTransfers(page, { refused: texts.failures.summary })
    const { note } = sent.value
    const { refused } = await attempt(page, async () => {
      const to = await destination(page, sent.value)
      await run(site.records, { id: pathPart(page), note, to, operator, at: site.clock.now() })
    })
    return refused === undefined ? seeOther(page, '/transfers?notice=done') : showTransfers(page, { refused })
  }
}

/** Credits a queued transfer to an account, or to the account of an invoice. */
export const submitAssign = decide(assignTransfer)

/** Marks a queued transfer as returned to its payer. */
export const submitReturn = decide(returnTransfer)

/** Undoes the decision on a transfer. */
export const submitUndo = decide(undoTransfer)

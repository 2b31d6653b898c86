import { html } from 'hono/html'
import { z } from 'zod'
import { AccountError } from '../../accounts/accounts.ts'
import { textLengthsMax } from '../../administration/text-lengths.ts'
import { deleteAccount, deletionBlockers, type DeletionBlockers } from '../../payments/delete-account.ts'
import { kopecks, count, money } from '../../web/format.ts'
import { fieldSchemas, pathPart, readForm } from '../../web/http/read-form.ts'
import { seeOther } from '../../web/http/redirect.ts'
import { showFailure } from '../../web/pages/failure.ts'
import { emptyForm, field, form, formProblems, refusal, type FormState } from '../../web/view/form.ts'
import { titledPage } from '../../web/view/layout.ts'
import type { PageResponse, Html } from '../../web/web-page.ts'
import type { DeskPage } from '../page.ts'
import { attempt } from '../view/shown-reason.ts'

const schema = z.object({ reason: fieldSchemas.reason(textLengthsMax.reason) })

/** What prevents the deletion, each with its amount or number. */
function blockerList(page: DeskPage, blockers: DeletionBlockers): readonly string[] {
  const { blockers: texts } = page.texts.deletion
  const { language } = page
  const shown: readonly (readonly [keyof DeletionBlockers, string])[] = [
    ['balanceMicros', money(blockers.balanceMicros, language)],
    ['debtMicros', money(blockers.debtMicros, language)],
    ['openHolds', count(blockers.openHolds, language)],
    ['openPayments', count(blockers.openPayments, language)],
    ['openInvoices', count(blockers.openInvoices, language)],
    ['undocumentedKopecks', kopecks(blockers.undocumentedKopecks, language)],
  ]
  return shown.flatMap(([name, amount]) => (blockers[name] > 0 ? [`${texts[name]}: ${amount}`] : []))
}

function points(title: string, all: readonly string[]): Html {
  return html`<h2>${title}</h2>
    <ul class="points">
      ${all.map(one => html`<li>${one}</li>`)}
    </ul>`
}

async function view(page: DeskPage, state: FormState): Promise<Html> {
  const { deletion, common } = page.texts
  const accountId = pathPart(page)
  const blockers = blockerList(
    page,
    await deletionBlockers(page.site.records, accountId, page.site.clock.now()),
  )
  const path = `/customers/${accountId}`
  return titledPage(
    page,
    { title: deletion.title, isNarrow: true },
    html`<p>
        <a href="${path}"><code>${accountId}</code></a>
      </p>
      ${blockers.length === 0 ? formProblems(page, state) : refusal(state.errors['reason'])}
      <section class="card">
        ${blockers.length === 0 ? '' : points(deletion.inTheWay, blockers)}
        ${points(deletion.removed, deletion.removedPoints)} ${points(deletion.kept, deletion.keptPoints)}
        ${
          blockers.length > 0
            ? ''
            : form(
                page,
                `${path}/delete`,
                html`${field(state, { name: 'reason', label: common.ownReason })}
                  <div><button class="danger">${deletion.submit}</button></div>`,
              )
        }
      </section>`,
  )
}

/** Shows what a deletion removes, what it keeps, and what prevents it. */
export async function showDeleteCustomer(page: DeskPage, sent?: FormState): Promise<PageResponse> {
  try {
    return page.context.html(await view(page, sent ?? emptyForm), sent === undefined ? 200 : 422)
  } catch (error) {
    // The account does not exist, or not any more.
    if (!(error instanceof AccountError)) throw error
    return showFailure(page, 'notFound')
  }
}

/** Closes an account permanently. */
export async function submitDeleteCustomer(page: DeskPage): Promise<PageResponse> {
  const { site, operator } = page
  const accountId = pathPart(page)
  const sent = await readForm(page, schema)
  if (!sent.isValid) return showDeleteCustomer(page, sent.state)
  const deletion = { accountId, reason: sent.value.reason, operator }
  const { refused } = await attempt(page, () => deleteAccount(site, deletion, site.clock.now()))
  return refused === undefined
    ? seeOther(page, `/customers/${accountId}?notice=done`)
    : showDeleteCustomer(page, { ...sent.state, errors: { reason: refused } })
}

import { z } from 'zod'
import { addNote, endSessions, moveMoney } from '../../administration/account-acts.ts'
import { AccountError } from '../../accounts/accounts.ts'
import { correctCharge } from '../../administration/correct-charge.ts'
import { textLengthsMax } from '../../administration/text-lengths.ts'
import { parseRoubles } from '../../money/amount.ts'
import { fieldSchemas, idField, pathPart, readForm, says } from '../../web/http/read-form.ts'
import { seeOther } from '../../web/http/redirect.ts'
import { showFailure } from '../../web/pages/failure.ts'
import type { FormState } from '../../web/view/form.ts'
import type { Answer } from '../../web/web-page.ts'
import type { DeskPage, ShowDeskPage } from '../page.ts'
import { attempt } from '../view/shown-reason.ts'
import { customerView } from './customer.ts'
import type { FormName } from './customer-forms.ts'

const reason = fieldSchemas.reason(textLengthsMax.reason)
const formId = idField
const reasonSchema = z.object({ reason })

/** Does something for a customer and comes back to the page; what was wrong is said there. */
function customerAction<Schema extends z.ZodObject>(
  name: FormName,
  schemaOf: (page: DeskPage) => Schema,
  act: (page: DeskPage, accountId: string, value: z.output<Schema>) => Promise<'done' | 'done-before'>,
): ShowDeskPage {
  return async (page: DeskPage) => {
    const accountId = pathPart(page)
    const sent = await readForm(page, schemaOf(page))
    const refuse = async (state: FormState): Promise<Answer> => {
      const view = await customerView(page, accountId, { name, state })
      return view === undefined ? showFailure(page, 'notFound') : page.context.html(view, 422)
    }
    if (!sent.isValid) return refuse(sent.state)
    const { refused, done } = await attempt(page, () => act(page, accountId, sent.value))
    return refused === undefined
      ? seeOther(page, `/customers/${accountId}?notice=${done}`)
      : refuse({ ...sent.state, errors: { reason: refused } })
  }
}

/** Notes something about the customer, for operators alone. */
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

/** Books money in. */
export const submitCredit = movement('credit')

/** Takes money out that is available. */
export const submitDebit = movement('debit')

/** Says what a request was to cost. */
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
      // Nothing is an amount here, and is typed as 0.
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

/** Refuses all keys of the account. */
export const submitBlock = block(true)

/** Ends a block. */
export const submitUnblock = block(false)

/** Signs everybody of the account out. */
export const submitEndSessions = customerAction(
  'end-sessions',
  () => reasonSchema,
  async ({ site, operator }, accountId, { reason: why }) => {
    await endSessions(site.records, { accountId, reason: why, operator }, site.clock.now())
    return 'done'
  },
)

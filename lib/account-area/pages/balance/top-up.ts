import { z } from 'zod'
import { microsPerKopeck } from '../../../money/kopecks.ts'
import { fieldSchemas, readForm, says, withError } from '../../../web/http/read-form.ts'
import type { FieldErrorKey } from '../../../web/http/read-form.ts'
import { seeOther } from '../../../web/http/redirect.ts'
import type { OwnPage, PageContext } from '../../page.ts'
import type { Language } from '../../../web/texts/web-texts.ts'
import { showFailure } from '../../../web/pages/failure.ts'
import { balanceView } from './balance.ts'

function topUpSchema(language: Language) {
  return z.object({
    amount: fieldSchemas.roubles(language).refine(micros => micros !== undefined, says('required')),
    method: z.enum(['bank_card', 'sbp'], says('methodMissing')),
    email: fieldSchemas.email,
    saveCard: z.literal('yes').optional().catch(undefined),
  })
}

/** Makes a payment, and leads to where it is paid. */
export async function submitTopUp(context: PageContext, page: OwnPage): Promise<Response> {
  const { site, account, caller, language } = page
  const { payments } = site
  if (payments === undefined) return showFailure(context, page, 'notFound')
  const sent = await readForm(context, page, topUpSchema(language))
  if (!sent.isValid) return context.html(await balanceView(page, { form: sent.state }), 422)
  const { amount, method, email, saveCard } = sent.value
  const { topUp, autoTopUp } = payments.settings()
  const offered = topUp.methods.find(({ name }) => name === method)
  const refuse = async (name: string, key: FieldErrorKey): Promise<Response> =>
    context.html(await balanceView(page, { form: withError(page, sent.state, name, key) }), 422)
  if (offered === undefined) return refuse('method', 'methodMissing')
  if (amount % microsPerKopeck !== 0) return refuse('amount', 'amountKopecks')
  if (amount < topUp.minMicros) return refuse('amount', 'amountSmall')
  if (amount > offered.maxMicros) return refuse('amount', 'amountLarge')
  if (!(await site.topUpAttempts.begin(account.accountId))) return refuse('amount', 'tooOften')
  const payment = await payments.payments.create({
    accountId: account.accountId,
    amountMicros: amount,
    method,
    email,
    language,
    origin: 'customer',
    savesCard: saveCard === 'yes' && autoTopUp && method === 'bank_card' && account.role === 'owner',
    address: caller.address,
  })
  const goes = payment.state === 'pending' && method === 'bank_card' ? '?go=1' : ''
  return seeOther(context, `/balance/payments/${payment.id}${goes}`)
}

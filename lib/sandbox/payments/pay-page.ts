import { kopecksOf } from './shop-objects.ts'
import type { ShopPayment } from './shop-objects.ts'

/** Reasons that the page offers, as the API names them. */
const reasons = [
  'insufficient_funds',
  '3d_secure_failed',
  'general_decline',
  'card_expired',
  'fraud_suspected',
]

const texts = {
  ru: {
    title: 'Тестовая оплата',
    note: 'Это песочница: деньги не списываются.',
    card: 'Оплатить картой',
    sbp: 'Оплатить через СБП',
    decline: 'Отклонить',
    saves: 'Карта сохранится для автоматических списаний.',
    back: 'Вернуться в магазин',
    succeeded: 'Оплачено',
    canceled: 'Отменено',
  },
  en: {
    title: 'Test payment',
    note: 'This is a sandbox: no money moves.',
    card: 'Pay by card',
    sbp: 'Pay by SBP',
    decline: 'Decline',
    saves: 'The card is saved for automatic payments.',
    back: 'Back to the shop',
    succeeded: 'Paid',
    canceled: 'Canceled',
  },
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}

/** The page on which a customer pays, declines, or lets it wait. */
export function payPage({ id, status, body }: ShopPayment): string {
  const text = body.confirmation?.locale === 'en_US' ? texts.en : texts.ru
  const method = body.payment_method_data?.type
  const offered = (['bank_card', 'sbp'] as const).filter(one => method === undefined || method === one)
  const amount = (kopecksOf(body.amount) / 100).toFixed(2)
  const buttons = offered.map(
    one => `<button name="pay" value="${one}">${one === 'sbp' ? text.sbp : text.card}</button>`,
  )
  const options = reasons.map(reason => `<option>${reason}</option>`).join('')
  const form = `<form method="post" action="/pay/${id}">${buttons.join('')}</form>
<form method="post" action="/pay/${id}"><select name="decline">${options}</select><button>${text.decline}</button></form>`
  return `<!doctype html><html lang="${text === texts.ru ? 'ru' : 'en'}"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>${text.title}</title>
<style>body{font:18px/1.5 sans-serif;max-width:26rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}
button,select{font:inherit;padding:.6rem 1rem;margin:.3rem .3rem .3rem 0}</style>
<h1>${text.title}</h1><p>${text.note}</p><p><strong>${amount} ₽</strong><br>${escaped(body.description ?? '')}</p>
${status === 'pending' ? form : `<p role="status">${text[status]}</p>`}
${body.save_payment_method === true ? `<p>${text.saves}</p>` : ''}
<p><a href="${escaped(body.confirmation?.return_url ?? '')}">${text.back}</a></p></html>`
}

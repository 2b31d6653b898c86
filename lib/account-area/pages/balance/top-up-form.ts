import { html } from 'hono/html'
import type { PaymentsConfig } from '../../../config/config.ts'
import { formatWholeKopecks } from '../../../money/kopecks.ts'
import { money } from '../../../web/format.ts'
import { typedRoubles } from '../../../web/http/typed-roubles.ts'
import type { Html, OwnPage } from '../../page.ts'
import { radios } from '../../../web/view/form-controls.ts'
import { checkbox, field, form } from '../../../web/view/form.ts'
import type { FormState } from '../../../web/view/form.ts'
import { roublesTyped } from '../settings/roubles-typed.ts'

/** The form before anybody has typed: with the amount that the address names, and the way to pay of last time. */
export function untouchedTopUp(page: OwnPage, lastMethod: string | null | undefined): FormState {
  const query = new URLSearchParams(page.path.split('?')[1])
  // Links have a point, whatever the language.
  const amount = typedRoubles(query.get('rub') ?? '', 'ru')
  const isAmount = typeof amount === 'number'
  return {
    typed: {
      email: page.session.user.email,
      amount: isAmount ? roublesTyped(amount, page.language) : '',
      ...(lastMethod === null || lastMethod === undefined ? {} : { method: lastMethod }),
      ...(query.get('save') === '1' ? { saveCard: 'yes' } : {}),
    },
    errors: {},
  }
}

/** An amount that fills the field in: by script on the spot, else by a page that has it filled in. */
function preset(page: OwnPage, micros: number): Html {
  const rub = formatWholeKopecks(micros)
  return html`<a
    class="button plain"
    href="/balance?rub=${rub}#amount"
    data-fill="amount"
    data-value="${roublesTyped(micros, page.language)}"
    >${money(micros, page.language).replace(/[.,]00(?=\D*$)/, '')}</a
  >`
}

/** Where an amount, a way to pay and the receipt's address are chosen. */
export function topUpForm(page: OwnPage, { topUp, autoTopUp }: PaymentsConfig, state: FormState): Html {
  const { balance } = page.texts
  const { language } = page
  const names = topUp.methods.map(({ name }): [string, string] => [name, balance.methods[name]])
  const maySave = autoTopUp && page.account.role === 'owner' && names.some(([name]) => name === 'bank_card')
  return html`<section class="card">
    <h2>${balance.topUp}</h2>
    ${form(
      page,
      '/balance/top-up',
      html`${field(state, {
          name: 'amount',
          label: balance.amount,
          hint: balance.amountHint(money(topUp.minMicros, language), money(topUp.maxMicros, language)),
          inputmode: 'decimal',
        })}
        <p class="presets">${topUp.presetsMicros.map(micros => preset(page, micros))}</p>
        ${radios(state, { name: 'method', label: balance.method, options: Object.fromEntries(names) })}
        ${field(state, { name: 'email', label: balance.email, type: 'email', autocomplete: 'email' })}
        ${maySave ? checkbox(state, { name: 'saveCard', label: balance.saveCard }) : ''}
        <div><button>${balance.pay}</button></div>`,
    )}
  </section>`
}

import { html } from 'hono/html'
import type { PaymentsConfig } from '../../../config/config.ts'
import { microsPerKopeck } from '../../../money/kopecks.ts'
import { money } from '../../format.ts'
import type { Html, OwnPage } from '../../page.ts'
import { choice } from '../../view/form-controls.ts'
import { field, form } from '../../view/form.ts'
import type { FormState } from '../../view/form.ts'

function roublesOf(micros: number): string {
  return String(micros / 100 / microsPerKopeck)
}

/** The form before anybody has typed: with the amount that a preset of the page names. */
export function untouchedTopUp(page: OwnPage): FormState {
  const amount = new URLSearchParams(page.path.split('?')[1]).get('rub') ?? ''
  const isAmount = /^\d{1,7}([.,]\d{1,2})?$/.test(amount)
  return { typed: { email: page.session.user.email, amount: isAmount ? amount : '' }, errors: {} }
}

/** Where an amount, a way to pay and the receipt's address are chosen. */
export function topUpForm(page: OwnPage, { topUp }: PaymentsConfig, state: FormState): Html {
  const { balance } = page.texts
  const names = topUp.methods.map(({ name }): [string, string] => [name, balance.methods[name]])
  return html`<section class="card">
    <h2>${balance.topUp}</h2>
    <p class="presets">
      ${topUp.presetsMicros.map(
        micros =>
          html`<a class="button plain" href="/balance?rub=${roublesOf(micros)}#amount"
            >${money(micros, page.language)}</a
          > `,
      )}
    </p>
    ${form(
      page,
      '/balance/top-up',
      html`${field(state, {
          name: 'amount',
          label: balance.amount,
          hint: balance.amountHint(
            money(topUp.minMicros, page.language),
            money(topUp.maxMicros, page.language),
          ),
          inputmode: 'decimal',
        })}
        ${choice(state, { name: 'method', label: balance.method, options: Object.fromEntries(names) })}
        ${field(state, { name: 'email', label: balance.email, type: 'email', autocomplete: 'email' })}
        <div><button>${balance.pay}</button></div>`,
    )}
  </section>`
}

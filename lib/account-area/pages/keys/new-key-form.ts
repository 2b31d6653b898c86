import { html } from 'hono/html'
import { newId } from '../../../platform/new-id.ts'
import type { Html, OwnPage } from '../../page.ts'
import { choice, textArea } from '../../../web/view/form-controls.ts'
import { field, form, formProblems, problem } from '../../../web/view/form.ts'
import type { FormState } from '../../../web/view/form.ts'
import { layout } from '../../../web/view/layout.ts'
import { offeredModels } from './offered-models.ts'

function modelList(page: OwnPage, state: FormState): Html {
  const { newKey } = page.texts
  const offered = offeredModels(page.site.config)
  const chosen = new Set(state.typed['models']?.split('\n'))
  const total = [...offered.values()].reduce((sum, names) => sum + names.length, 0)
  if (total === 0) return html``
  const box = (name: string, id: string): Html =>
    html`<div class="check">
      <input
        type="checkbox"
        id="${id}"
        name="models"
        value="${name}"
        ${chosen.has(name) ? html`checked` : ''}
      />
      <label for="${id}" class="mono">${name}</label>
    </div>`
  return html`<details class="disclosure" ${chosen.size > 0 ? html`open` : ''}>
    <summary>${newKey.chooseModels(total)}</summary>
    <div class="choices">
      ${[...offered].map(
        ([provider, names]) =>
          html`<fieldset>
            <legend>${provider}</legend>
            ${names.map((name, index) => box(name, `model-${provider}-${index}`))}
          </fieldset>`,
      )}
    </div>
  </details>`
}

/** The form for a new key, empty or as it was sent. */
export function newKeyForm(page: OwnPage, state: FormState): Html {
  const { keys, newKey } = page.texts
  return layout(
    page,
    { title: newKey.title },
    html`<h1>${newKey.title}</h1>
      ${formProblems(page, state)}
      <section class="card">
        ${form(
          page,
          '/keys/new',
          html`<input type="hidden" name="form" value="${newId()}" />
            <div class="halves">
              <div class="stack">
                ${field(state, { name: 'name', label: newKey.name, hint: newKey.nameHint })}
                ${field(state, {
                  name: 'budget',
                  label: newKey.budget,
                  hint: newKey.budgetHint,
                  inputmode: 'decimal',
                  isOptional: true,
                })}
                ${choice(state, {
                  name: 'period',
                  label: newKey.period,
                  hint: newKey.periodHint,
                  options: keys.periods,
                })}
                ${field(state, {
                  name: 'expires',
                  label: newKey.expires,
                  type: 'date',
                  hint: newKey.expiresHint,
                  isOptional: true,
                })}
              </div>
              <div class="stack">
                <fieldset class="field" id="models" aria-describedby="models-hint">
                  <legend>${keys.models}</legend>
                  <span class="hint" id="models-hint">${newKey.modelsHint}</span>
                  ${modelList(page, state)} ${problem('models', state.errors['models'])}
                </fieldset>
                ${textArea(state, { name: 'patterns', label: newKey.patterns, hint: newKey.patternsHint })}
                ${textArea(state, {
                  name: 'addresses',
                  label: newKey.addresses,
                  hint: newKey.addressesHint,
                })}
              </div>
            </div>
            <div class="row">
              <button>${newKey.submit}</button>
              <a class="button plain" href="/keys">${newKey.cancel}</a>
            </div>`,
          { className: 'stack wide' },
        )}
      </section>`,
  )
}

import { html } from 'hono/html'
import { z } from 'zod'
import { budgetPeriods, type KeyEdit, type KeyRecord } from '../../accounts/accounts.ts'
import { keyListMax, textLengthsMax } from '../../administration/text-lengths.ts'
import { isAddressRange } from '../../config/scalars.ts'
import { zonedTime } from '../../platform/clock.ts'
import { standsForModel } from '../../models/model-directory.ts'
import { fieldSchemas, pathPart, readForm, says, roublesTyped } from '../../web/http/read-form.ts'
import { seeOther } from '../../web/http/redirect.ts'
import { showFailure } from '../../web/pages/failure.ts'
import { choice, field, form, formProblems, type FormState } from '../../web/view/form.ts'
import { titledPage } from '../../web/view/layout.ts'
import type { PageResponse, Html } from '../../web/web-page.ts'
import type { DeskPage } from '../page.ts'
import { attempt } from '../view/shown-reason.ts'

function schemaOf({ language, site }: DeskPage, key: KeyRecord) {
  // The expiry of an already expired key may stay.
  const from = Math.min(site.clock.now(), (key.expiresAt ?? Infinity) - 1)
  return z.object({
    name: fieldSchemas.name.max(textLengthsMax.name, says('tooLong')),
    budget: fieldSchemas.roubles(language),
    period: z.enum(budgetPeriods).catch('total'),
    models: fieldSchemas.list(z.string().max(textLengthsMax.modelName, says('tooLong')), keyListMax),
    addresses: fieldSchemas.list(z.string().refine(isAddressRange, says('addressesInvalid')), keyListMax),
    expires: fieldSchemas.lastDay(from, site.config.timeZone),
    reason: fieldSchemas.reason(textLengthsMax.reason),
  })
}

/** The values of a key in its form; empty for no limit. */
function typedOf({ language, site }: DeskPage, key: KeyRecord) {
  const { name, budgetMicros, budgetPeriod = 'total', models = [], ipAddresses = [] } = key
  return {
    name,
    budget: roublesTyped(budgetMicros, language),
    period: budgetPeriod,
    models: models.join(', '),
    addresses: ipAddresses.join(', '),
    expires: lastDayOf(key.expiresAt, site.config.timeZone),
  }
}

/** The last valid day of a key in a zone; empty when it has no expiry. */
function lastDayOf(expiresAt: number | undefined, zone: string): string {
  return expiresAt === undefined ? '' : zonedTime(expiresAt - 1, zone).slice(0, 10)
}

function view(page: DeskPage, key: KeyRecord, state: FormState): Html {
  const { editKey, common } = page.texts
  const path = `/customers/${key.accountId}`
  return titledPage(
    page,
    { title: editKey.title, isNarrow: true },
    html`<p>
        <a href="${path}"><code>${key.accountId}</code></a> · <code>${key.id}</code> · …${key.lastFour}
      </p>
      ${formProblems(page, state)}
      <section class="card">
        ${form(
          page,
          `${path}/keys/${key.id}`,
          html`${field(state, { name: 'name', label: common.name, isOptional: true })}
            ${field(state, {
              name: 'budget',
              label: editKey.budget,
              hint: editKey.noLimit,
              inputmode: 'decimal',
              isOptional: true,
            })}
            ${choice(state, { name: 'period', label: editKey.period, options: editKey.periods })}
            ${field(state, { name: 'models', label: editKey.models, hint: editKey.noLimit, isOptional: true })}
            ${field(state, {
              name: 'addresses',
              label: editKey.addresses,
              hint: editKey.noLimit,
              isOptional: true,
            })}
            ${field(state, {
              name: 'expires',
              label: editKey.expires,
              hint: editKey.expiresHint(page.site.config.timeZone),
              type: 'date',
              isOptional: true,
            })}
            ${field(state, { name: 'reason', label: common.ownReason })}
            <div><button>${editKey.submit}</button></div>`,
        )}
      </section>`,
  )
}

function keyOf(page: DeskPage): Promise<KeyRecord | undefined> {
  return page.site.reports.key(pathPart(page), pathPart(page, 'key'))
}

/** The form with a key's limits. */
export async function showEditKey(page: DeskPage): Promise<PageResponse> {
  const key = await keyOf(page)
  if (key === undefined) return showFailure(page, 'notFound')
  return view(page, key, { typed: typedOf(page, key), errors: {} })
}

/**
 * The differences from the key as it is: limits that this form does not change stay, whatever they were set to
 * meanwhile.
 */
function changesOf(
  key: KeyRecord,
  zone: string,
  { name, budget, period, models, addresses, expires }: z.output<ReturnType<typeof schemaOf>>,
): Partial<KeyEdit> {
  const isSame = (one: readonly string[], other: readonly string[] = []): boolean =>
    one.join(',') === other.join(',')
  const isBudgetSame =
    budget === key.budgetMicros && (budget === undefined || period === (key.budgetPeriod ?? 'total'))
  return {
    ...(name !== key.name && { name }),
    ...(!isBudgetSame && {
      budgetMicros: budget ?? null,
      ...(budget !== undefined && { budgetPeriod: period }),
    }),
    ...(!isSame(models, key.models) && { models: models.length === 0 ? null : models }),
    ...(!isSame(addresses, key.ipAddresses) && { ipAddresses: addresses.length === 0 ? null : addresses }),
    // An expiry with a time of day, set by command, stays unless the day changes.
    ...(lastDayOf(expires, zone) !== lastDayOf(key.expiresAt, zone) && { expiresAt: expires ?? null }),
  }
}

/** Changes a key's limits, for requests that begin afterwards. */
export async function submitEditKey(page: DeskPage): Promise<PageResponse> {
  const { site, operator } = page
  const key = await keyOf(page)
  if (key === undefined) return showFailure(page, 'notFound')
  const sent = await readForm(page, schemaOf(page, key))
  const refuse = (state: FormState) => page.context.html(view(page, key, state), 422)
  if (!sent.isValid) return refuse(sent.state)
  const { models, reason } = sent.value
  const unknown = models.find(one => !standsForModel(site.config, one) && key.models?.includes(one) !== true)
  if (unknown !== undefined)
    return refuse({ ...sent.state, errors: { models: page.texts.editKey.modelUnknown(unknown) } })
  const changes = changesOf(key, site.config.timeZone, sent.value)
  const edit = { ...changes, id: key.id, reason, operator }
  const isChanged = Object.keys(changes).length > 0
  const { refused } = await attempt(page, async () => (isChanged ? site.accounts.editKey(edit) : undefined))
  return refused === undefined
    ? seeOther(page, `/customers/${key.accountId}?notice=done`)
    : refuse({ ...sent.state, errors: { reason: refused } })
}

import { z } from 'zod'
import { isAddressRange } from '../../../config/scalars.ts'
import { isDay } from '../../../web/format.ts'
import { fieldSchemas, hiddenField, says } from '../../../web/http/read-form.ts'
import type { Language } from '../../../web/texts/web-texts.ts'

const msPerDay = 86_400_000
const listMax = 100

function list(text: string): string[] {
  return [...new Set(text.split(/[\s,;]+/).filter(item => item !== ''))]
}

/** The end of a day in Moscow, as the moment when the next one begins. */
function dayEnd(day: string): number {
  return Date.parse(`${day}T00:00:00+03:00`) + msPerDay
}

/** The fields of a new key; `now` is what an expiry must be after. */
export function newKeySchema(now: number, language: Language) {
  return z.object({
    name: fieldSchemas.name.min(1, says('required')).max(60, says('tooLong')),
    /** Which showing of the form was sent. */
    form: hiddenField(26),
    models: z.array(z.string().max(200, says('tooLong'))).max(1000, says('tooLong')),
    patterns: z
      .string()
      .default('')
      .transform(list)
      .pipe(z.array(z.string().max(200, says('tooLong'))).max(listMax, says('listLong'))),
    budget: fieldSchemas.roubles(language),
    period: z.enum(['total', 'day', 'week', 'month'], says('invalid')).default('total'),
    expires: z
      .string()
      .trim()
      .default('')
      .refine(text => text === '' || isDay(text), { ...says('dayInvalid'), abort: true })
      .transform(text => (text === '' ? undefined : dayEnd(text)))
      .refine(at => at === undefined || at > now, says('dayPast')),
    addresses: z
      .string()
      .default('')
      .transform(list)
      .pipe(
        z.array(z.string().refine(isAddressRange, says('addressesInvalid'))).max(listMax, says('listLong')),
      ),
  })
}

/** What a form for a new key says. */
export type NewKeyFields = z.output<ReturnType<typeof newKeySchema>>

import { z } from 'zod'
import { isId } from '../../platform/new-id.ts'
import { zonedDayEnd } from '../../platform/clock.ts'
import { isSeen, isSeenInLines } from '../../platform/seen-text.ts'
import { isDay } from '../format.ts'
import type { WebPage } from '../web-page.ts'
import { passwordLength } from '../sign-in/auth.ts'
import type { Language } from '../texts/language.ts'
import type { WebTexts } from '../texts/web-texts.ts'
import type { FormState } from '../view/form.ts'
import { parseRoubles, formatRoubles, type Micros } from '../../money/amount.ts'

/** What people type around the digits, or paste with them: spaces of any width, a currency. */
const around = /[\s'’]|₽|руб(?:\.|л[а-я]*)?|р\.?$|rub$/giu

function isGrouped(digits: string, mark: string): boolean {
  const [first = '', ...groups] = digits.split(mark)
  return /^[1-9]\d{0,2}$/.test(first) && groups.every(group => /^\d{3}$/.test(group))
}

/** The digits with a decimal point; undefined when the separators do not form a number. */
function withPoint(text: string, language: Language): string | undefined {
  const last = Math.max(text.lastIndexOf(','), text.lastIndexOf('.'))
  if (last === -1) return text
  const mark = text.charAt(last)
  const other = mark === ',' ? '.' : ','
  const whole = text.slice(0, last)
  // `1,500` is fifteen hundred in English, and one and a half in Russian.
  const isThousands = language === 'en' && mark === ',' && isGrouped(text, mark)
  if (isThousands || whole.includes(mark))
    return isGrouped(text, mark) ? text.replaceAll(mark, '') : undefined
  if (whole.includes(other) && !isGrouped(whole, other)) return undefined
  return `${whole.replaceAll(other, '')}.${text.slice(last + 1)}`
}

/**
 * Parses an amount as typed: `1 000,50 ₽`, `1,000.50`.
 * @returns micro-roubles; `'empty'` for an empty text, undefined for anything but an amount above zero
 */
export function typedRoubles(typed: string, language: Language): Micros | 'empty' | undefined {
  const text = typed.replaceAll(around, '')
  if (text === '') return typed.trim() === '' ? 'empty' : undefined
  const decimal = withPoint(text, language)
  try {
    const micros = decimal === undefined ? 0 : parseRoubles(decimal)
    return micros > 0 ? micros : undefined
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return undefined
  }
}

/** An amount as the value of a field: `1000,5`, in English `1000.5`; empty for undefined. */
export function roublesTyped(micros: number | undefined, language: Language): string {
  return micros === undefined
    ? ''
    : formatRoubles(micros)
        .replace(/\.?0+$/, '')
        .replace('.', language === 'ru' ? ',' : '.')
}

/** The error of a field: a key of the texts. */
export type FieldErrorKey = keyof WebTexts['fieldErrors']

/** Names of fields whose values are never sent back. */
const secretName = /password|code|secret|csrf/i

function errorText(texts: WebTexts, key: string): string {
  const { fieldErrors } = texts
  return Object.hasOwn(fieldErrors, key) ? fieldErrors[key as FieldErrorKey] : fieldErrors.invalid
}

/** The error message of a schema: its key in the texts. */
export function says(key: FieldErrorKey): { readonly error: FieldErrorKey } {
  return { error: key }
}

/** A reason or a note, possibly of several lines. */
function note(lengthMax: number) {
  return z
    .string(says('required'))
    .trim()
    .max(lengthMax, says('tooLong'))
    .refine(isSeenInLines, says('invalid'))
}

/** An amount as typed in a language, in micro-roubles. Empty is undefined, 0 is rejected. */
function roubles(language: Language) {
  return z
    .string()
    .default('')
    .transform((text, { issues }) => {
      const micros = typedRoubles(text, language)
      if (micros === 'empty') return undefined
      if (micros !== undefined) return micros
      issues.push({ code: 'custom', message: says('amountInvalid').error, input: text })
      return z.NEVER
    })
}

/** Schemas of fields that several forms have. */
export const fieldSchemas = {
  email: z
    .string(says('required'))
    .trim()
    .toLowerCase()
    .min(1, says('required'))
    .max(254, says('tooLong'))
    .pipe(z.email(says('emailInvalid'))),
  /** A name that a user enters. */
  name: z.string(says('required')).trim().refine(isSeen, says('invalid')),
  note,
  reason: (lengthMax: number) => note(lengthMax).min(1, says('required')),
  password: z.string(says('required')).min(1, says('required')).max(passwordLength.max, says('passwordLong')),
  newPassword: z
    .string(says('required'))
    .min(1, says('required'))
    .min(passwordLength.min, says('passwordShort'))
    .max(passwordLength.max, says('passwordLong')),
  roubles,
  someRoubles: (language: Language) =>
    roubles(language).refine(micros => micros !== undefined, says('required')),
  /** Items separated by commas, semicolons or white space, without duplicates. */
  list: <Item extends z.ZodType<string, string>>(item: Item, most: number) =>
    z
      .string()
      .default('')
      .transform(text => [...new Set(text.split(/[\s,;]+/).filter(one => one !== ''))])
      .pipe(z.array(item).max(most, says('listLong'))),
  /** The last valid day in a zone, converted to the end of that day. Empty is undefined. */
  lastDay: (now: number, zone = 'Europe/Moscow') =>
    z
      .string()
      .trim()
      .default('')
      .refine(text => text === '' || isDay(text), { ...says('dayInvalid'), abort: true })
      .transform(text => (text === '' ? undefined : zonedDayEnd(text, zone)))
      .refine(at => at === undefined || at > now, says('dayPast')),
  code: z
    .string(says('required'))
    .transform(text => text.replaceAll(/\s/g, ''))
    .pipe(z.string().min(1, says('required')).max(40, says('codeWrong'))),
}

/** A hidden field: an invalid value cannot come from the site's form, and counts as empty. */
export function hiddenField(lengthMax: number) {
  return z.string().max(lengthMax).catch('')
}

/** The id of a row in a form; an invalid id counts as empty. */
export const idField = z.string().refine(isId).catch('')

/** A parameter of a page's path, by default the id of the page's subject. */
export function pathPart({ context }: WebPage, name = 'id'): string {
  return context.req.param(name) ?? ''
}

/** A submitted form: its values, or the state to show again. */
type SentForm<T> =
  | { readonly isValid: true; readonly value: T; readonly state: FormState }
  | { readonly isValid: false; readonly state: FormState }

/**
 * Reads the fields that a schema names, and nothing else of the request. For a repeated field the last value counts,
 * unless the schema has an array for it; its values are joined as lines.
 */
export async function readForm<Schema extends z.ZodObject>(
  page: WebPage,
  schema: Schema,
): Promise<SentForm<z.output<Schema>>> {
  return readFields(page, schema, await page.context.req.parseBody({ all: true }))
}

/** Reads fields from the query, as filters send them. */
export function readQuery<Schema extends z.ZodObject>(
  page: WebPage,
  schema: Schema,
): SentForm<z.output<Schema>> {
  return readFields(page, schema, page.context.req.queries())
}

function readFields<Schema extends z.ZodObject>(
  page: WebPage,
  schema: Schema,
  body: Readonly<Record<string, unknown>>,
): SentForm<z.output<Schema>> {
  const sent: Record<string, string | string[]> = {}
  for (const [name, type] of Object.entries(schema.shape)) {
    const values = [body[name]].flat().filter(value => typeof value === 'string')
    const last = values.at(-1)
    if (type instanceof z.ZodArray) sent[name] = values
    else if (last !== undefined) sent[name] = last
  }
  const typed = Object.fromEntries(
    Object.entries(sent)
      .filter(([name, value]) => !secretName.test(name) && value.length > 0)
      .map(([name, value]) => [name, typeof value === 'string' ? value : value.join('\n')]),
  )
  const result = schema.safeParse(sent)
  if (result.success) return { isValid: true, value: result.data, state: { typed, errors: {} } }
  const errors: Record<string, string> = {}
  for (const { path, message } of result.error.issues) {
    const name = String(path[0] ?? '')
    errors[name] ??= errorText(page.texts, message)
  }
  return { isValid: false, state: { typed, errors } }
}

/** A valid form that is rejected for another reason. */
export function withError(page: WebPage, state: FormState, name: string, key: FieldErrorKey): FormState {
  return { ...state, errors: { ...state.errors, [name]: errorText(page.texts, key) } }
}

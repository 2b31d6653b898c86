import type { Movement } from '../../payments/movements.ts'
import type { AlarmRow, OperatorActionRow } from '../../stores/records/operator-tables.ts'
import { kopecks, decimal, exactRoubles, named, money } from '../../web/format.ts'
import type { DeskPage } from '../page.ts'
import { alarmAdviceKeys } from '../texts/alarm-advice.ts'
import { shownTime } from './desk-list.ts'
import { AccountError } from '../../accounts/accounts.ts'
import { DocumentError } from '../../documents/document.ts'
import type { ReasonDetails } from '../../platform/reasoned-error.ts'
import { RateError } from '../../prices/rate-book.ts'
import { StatementError } from '../../statements/statement.ts'
import type { Language } from '../../web/texts/language.ts'

/**
 * Why an action was refused, in the language of the page; undefined for any other failure. A code without a text
 * shows its own message.
 */
function refusalText(page: DeskPage, error: unknown): string | undefined {
  const { texts, language } = page
  const { documentRefusals, statementRefusals, rateRefusals, atLine } = texts
  const filled = (text: string, details: ReasonDetails): string =>
    text.replaceAll(/\{(\w+)\}/g, (_, name: string) => shownDetail(name, details[name], language))
  if (error instanceof AccountError) return accountRefusal(page, error)
  if (error instanceof DocumentError) return filled(documentRefusals[error.code], error.details)
  if (error instanceof RateError) return filled(rateRefusals[error.code], error.details)
  if (!(error instanceof StatementError)) return undefined
  const { code, details, line } = error
  const said = filled(statementRefusals[code], details)
  return line === undefined ? said : `${filled(atLine, { line })} ${said}`
}

function accountRefusal({ texts, language }: DeskPage, { code, message, amounts }: AccountError): string {
  const { refusals, refusalAmounts } = texts
  if (!isKey(refusals, code)) return message
  const said = Object.entries(amounts).flatMap(([name, micros]) =>
    isKey(refusalAmounts, name) ? [`${refusalAmounts[name]}: ${money(micros, language)}.`] : [],
  )
  return [refusals[code], ...said].join(' ')
}

function shownDetail(name: string, detail: string | number | undefined, language: Language): string {
  if (typeof detail === 'number' && name.endsWith('Kopecks')) return kopecks(detail, language)
  return String(detail ?? '')
}

/** The result of an action, or why it was refused. */
type Attempt<Done> =
  | { readonly refused: string; readonly done?: undefined }
  | { readonly refused?: undefined; readonly done: Done }

/** Runs an action that may be refused. */
export async function attempt<Done>(page: DeskPage, act: () => Promise<Done>): Promise<Attempt<Done>> {
  try {
    return { done: await act() }
  } catch (error) {
    const refused = refusalText(page, error)
    if (refused === undefined) throw error
    return { refused }
  }
}

/** The meaning of an alarm; empty for one of another release. */
export function alarmText({ texts }: DeskPage, kind: string): string {
  const { alarmSentences } = texts
  return isKey(alarmSentences, kind) ? alarmSentences[kind] : ''
}

/** How to resolve an alarm; empty for one of another release. */
export function alarmAdvice({ texts }: DeskPage, kind: string): string {
  return isKey(alarmAdviceKeys, kind) ? texts.alarmAdvice[alarmAdviceKeys[kind]] : ''
}

function isKey<T extends object>(texts: T, name: string): name is keyof T & string {
  return Object.hasOwn(texts, name)
}

/**
 * The form of a reason that the gateway writes, and how a page shows it. Reasons are stored in English, as commands
 * print them, and the log is append-only, so pages translate them. Parts that a person typed are shown unchanged.
 */
interface OwnForm {
  readonly form: RegExp
  readonly shown: (page: DeskPage, ...parts: string[]) => string
}

const amount = String.raw`\d+\.\d+`

/** `1500.000000` to the kopeck, or with its further digits. */
function roubles({ language }: DeskPage, text: string): string {
  return exactRoubles(text.replace(/(\.\d\d\d*?)0+$/, '$1'), language)
}

/** `1500.000000 ₽: invoice 17` */
const moved: OwnForm = {
  form: new RegExp(`^(${amount}) ₽(:.*)$`, 's'),
  shown: (page, sum = '', why = '') => roubles(page, sum) + why,
}

/** A name in the log: a single word, otherwise JSON. */
const quoted = String.raw`"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[\da-f]{4})*"`
const word = String.raw`(?:${quoted}|[^\s"();,]+)`
const words = `${word}(?:, ${word})*`

/** The names in a list, as they were typed. */
function typed(list: string): string {
  return list.replaceAll(new RegExp(quoted, 'g'), text => String(JSON.parse(text)))
}

const keyChanges: readonly OwnForm[] = [
  {
    form: new RegExp(`^name (${word})$`),
    shown: ({ texts }, name = '') => `${texts.reasons.keyName}: ${typed(name)}`,
  },
  {
    form: new RegExp(`^(models|addresses) (${words})$`),
    shown: ({ texts: { reasons } }, what = '', list = '') =>
      `${named(reasons.keyLists, what)}: ${list === 'all' ? reasons.noLimit : typed(list)}`,
  },
  { form: /^no budget$/, shown: ({ texts: { reasons } }) => `${reasons.budget}: ${reasons.noLimit}` },
  {
    form: new RegExp(`^budget (${amount}) (total|day|week|month)$`),
    shown: (page, sum = '', period = '') =>
      `${page.texts.reasons.budget}: ${roubles(page, sum)} ${named(page.texts.reasons.periods, period)}`,
  },
  { form: /^no expiry$/, shown: ({ texts: { reasons } }) => `${reasons.expiry}: ${reasons.noLimit}` },
  {
    form: /^expires (\d{4}-\d\d-\d\dT[\d:.]+Z)$/,
    shown: (page, at = '') => `${page.texts.reasons.expiry}: ${shownTime(page, Date.parse(at))}`,
  },
]

const keyChange = keyChanges.map(({ form }) => form.source.slice(1, -1)).join('|')

/** `key_1: models a, b; no budget (asked by email)`; each change is translated separately. */
const keyEdit: OwnForm = {
  form: new RegExp(`^(\\S+: )((?:${keyChange})(?:; (?:${keyChange}))*)( \\(.*)$`, 's'),
  // The capture groups of the single changes precede the last part.
  shown: (page, key = '', changes = '', ...parts) =>
    key +
    [...changes.matchAll(new RegExp(keyChange, 'g'))]
      .map(([change]) => translated(page, keyChanges, change))
      .join('; ') +
    (parts.at(-1) ?? ''),
}

/** The gateway's own reasons in the log, by action. */
const actionForms: Readonly<Partial<Record<OperatorActionRow['action'], OwnForm>>> = {
  credit: moved,
  debit: moved,
  'edit-key': keyEdit,
  correct: {
    form: new RegExp(`^([^ ,:]+)(?:, turn (\\d+))?: from (${amount}) to (${amount}) ₽(:.*)$`, 's'),
    shown: (page, request = '', turn = '', from = '', to = '', why = '') => {
      const { reasons } = page.texts
      return `${request}${turn === '' ? '' : reasons.turn(turn)}: ${roubles(page, from)} → ${roubles(page, to)}${why}`
    },
  },
  refund: {
    form: new RegExp(`^([^ ,]+, )(${amount}) ₽(:.*)$`, 's'),
    shown: (page, payment = '', sum = '', why = '') => payment + roubles(page, sum) + why,
  },
  'accept-rate': {
    form: /^(\d{4}-\d\d-\d\d: )(\d+\.\d+)$/,
    shown: ({ language }, day = '', rate = '') => day + decimal(rate, language),
  },
  'import-prices': {
    form: /^(.*: )(\d+) models?$/s,
    shown: ({ texts }, from = '', models = '') => from + texts.reasons.models(models),
  },
  'import-statement': {
    form: /^(.*: )(\d+) credited, (\d+) queued$/s,
    shown: ({ texts }, file = '', credited = '', queued = '') => file + texts.reasons.taken(credited, queued),
  },
  'close-month': {
    form: /^(\d{4}-\d\d: )(\d+) documents$/,
    shown: ({ texts }, month = '', documents = '') => month + texts.reasons.documents(documents),
  },
  'mark-document': {
    form: /^(\S+: )(issued|sent|signed)$/,
    shown: ({ texts }, id = '', state = '') => id + named(texts.documents.states, state),
  },
  'add-operator': {
    form: /^(\S+: )(owner|finance|support)$/,
    shown: ({ texts }, email = '', role = '') => email + named(texts.roles, role),
  },
}

/**
 * The reason of an operator's action: the gateway's phrases in the language of the page, a person's text unchanged.
 */
export function actionReason(page: DeskPage, { action, reason }: OperatorActionRow): string {
  const own = actionForms[action]
  return own === undefined ? reason : translated(page, [own], reason)
}

/** Movements with a generated reason, by id. */
const ownMovement = /^(?:payment|refund-canceled|starting|transfer):/

const movementForms: readonly OwnForm[] = [
  { form: /^payment (\w+)$/, shown: ({ texts }, id = '') => texts.reasons.payment(id) },
  { form: /^refund (\w+) was canceled$/, shown: ({ texts }, id = '') => texts.reasons.refundCanceled(id) },
  { form: /^starting credit$/, shown: ({ texts }) => texts.reasons.startingCredit },
  {
    form: /^bank transfer taken back: (.*) of (\d{4}-\d\d-\d\d)$/s,
    shown: ({ texts }, number = '', day = '') => texts.reasons.transferUndone(number, day),
  },
  {
    form: /^bank transfer (.*) of (\d{4}-\d\d-\d\d)$/s,
    shown: ({ texts }, number = '', day = '') => texts.reasons.transfer(number, day),
  },
]

/** The reason of a movement of money, translated likewise. */
export function movementReason(page: DeskPage, { id, reason }: Pick<Movement, 'id' | 'reason'>): string {
  const text = reason ?? ''
  return ownMovement.test(id) ? translated(page, movementForms, text) : text
}

/** Why an alarm was closed, translated likewise; the gateway closes those that end by themselves. */
export function alarmReason({ texts }: DeskPage, { closed_by, reason }: AlarmRow): string {
  return closed_by === 'gateway' ? texts.reasons.alarmEnded : (reason ?? '')
}

function translated(page: DeskPage, forms: readonly OwnForm[], text: string): string {
  for (const { form, shown } of forms) {
    const match = form.exec(text)
    if (match !== null) return shown(page, ...match.slice(1).map(part => part ?? ''))
  }
  return text
}

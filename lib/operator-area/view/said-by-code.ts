import { AccountError } from '../../accounts/accounts.ts'
import { money } from '../../web/format.ts'
import type { DeskPage } from '../page.ts'

/** Why something was refused, in the language of the page. A code of which no text tells has its own message. */
export function refusalText({ texts, language }: DeskPage, { code, message, amounts }: AccountError): string {
  const { refusals, refusalAmounts } = texts
  if (!isKey(refusals, code)) return message
  const said = Object.entries(amounts).flatMap(([name, micros]) =>
    isKey(refusalAmounts, name) ? [`${refusalAmounts[name]}: ${money(micros, language)}.`] : [],
  )
  return [refusals[code], ...said].join(' ')
}

/** Does something, and answers why it was refused; undefined: it was done. */
export async function refusalOf(page: DeskPage, act: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await act()
    return undefined
  } catch (error) {
    if (!(error instanceof AccountError)) throw error
    return refusalText(page, error)
  }
}

/** What an alarm says; empty for one of another release. */
export function alarmText({ texts }: DeskPage, kind: string): string {
  const { alarmSentences } = texts
  return isKey(alarmSentences, kind) ? alarmSentences[kind] : ''
}

function isKey<T extends object>(texts: T, name: string): name is keyof T & string {
  return Object.hasOwn(texts, name)
}

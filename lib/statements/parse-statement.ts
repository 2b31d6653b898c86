import { noStatement, StatementError } from './statement.ts'
import type { AccountSection, Statement, StatementDocument, PaymentSide } from './statement.ts'
import { cleanNumber } from '../companies/company-numbers.ts'
import { cleanText } from '../companies/printable-text.ts'
import { parseKopecks } from '../money/kopecks.ts'
import type { Kopecks } from '../money/kopecks.ts'

const versions = ['1.01', '1.02', '1.03']

/** A bank writes at most 210 characters of a payment order; a longer value is not such a text. */
const valueLengthMax = 2000

/** The keys and values of one section. */
class Fields {
  readonly name: string
  readonly line: number
  readonly #values = new Map<string, { readonly text: string; readonly line: number }>()

  constructor(name: string, line: number) {
    this.name = name
    this.line = line
  }

  /** @throws StatementError when a key has two values: choosing either could be wrong */
  add(key: string, text: string, line: number): void {
    if (text.length > valueLengthMax) {
      throw new StatementError(
        'value_long',
        `${key} has ${text.length} characters; at most ${valueLengthMax} are read`,
        { key, length: text.length, most: valueLengthMax, line },
      )
    }
    const known = this.#values.get(key)
    if (known !== undefined && known.text !== text) {
      throw new StatementError(
        'value_twice',
        `${key} has another value than in line ${known.line} of the same section`,
        { key, other: known.line, line },
      )
    }
    this.#values.set(key, { text, line })
  }

  /** The first of the keys that has a value, or an empty text. */
  text(...keys: readonly string[]): string {
    return keys.map(key => this.#values.get(key)?.text ?? '').find(text => text !== '') ?? ''
  }

  amount(key: string): Kopecks | undefined {
    const found = this.#values.get(key)
    if (found === undefined || found.text === '') return undefined
    const isNegative = found.text.startsWith('-')
    const kopecks = parseKopecks(isNegative ? found.text.slice(1) : found.text)
    if (kopecks === undefined) {
      throw new StatementError(
        'amount_unreadable',
        `${key} is "${shown(found.text)}", and must be roubles such as 45329.91`,
        { key, value: shown(found.text), line: found.line },
      )
    }
    return isNegative ? -kopecks : kopecks
  }

  /** An ISO day of `11.01.2026`. */
  day(key: string): string | undefined {
    const found = this.#values.get(key)
    if (found === undefined || found.text === '') return undefined
    const [, day, month, year] = /^(\d\d)\.(\d\d)\.(\d{4})$/.exec(found.text) ?? []
    const iso = `${year}-${month}-${day}`
    const ms = Date.parse(`${iso}T00:00:00Z`)
    // The parser turns 31 February into a day of March.
    if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== iso) {
      throw new StatementError(
        'day_unreadable',
        `${key} is "${shown(found.text)}", and must be a day such as 11.01.2026`,
        { key, value: shown(found.text), line: found.line },
      )
    }
    return iso
  }

  /** @throws StatementError when the value is absent */
  required<T>(value: T | undefined, key: string): T {
    if (value !== undefined && value !== '') return value
    throw new StatementError('key_missing', `the section has no ${key}`, { key, line: this.line })
  }
}

function shown(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text
}

/** A present value as a member, an absent one as none. */
function member<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]: V })
}

function readSection(fields: Fields): AccountSection {
  const from = fields.required(fields.day('ДатаНачала'), 'ДатаНачала')
  return {
    line: fields.line,
    account: fields.required(cleanNumber(fields.text('РасчСчет')), 'РасчСчет'),
    from,
    to: fields.day('ДатаКонца') ?? from,
    ...member('opening', fields.amount('НачальныйОстаток')),
    ...member('received', fields.amount('ВсегоПоступило')),
    ...member('sent', fields.amount('ВсегоСписано')),
    ...member('closing', fields.amount('КонечныйОстаток')),
  }
}

function readDocument(fields: Fields): StatementDocument {
  const amount = fields.required(fields.amount('Сумма'), 'Сумма')
  if (amount <= 0)
    throw new StatementError('amount_zero', 'Сумма must be more than nothing', { line: fields.line })
  return {
    line: fields.line,
    kind: fields.name,
    number: fields.text('Номер'),
    date: fields.required(fields.day('Дата'), 'Дата'),
    amount,
    payer: readSide(fields, 'Плательщик'),
    payee: readSide(fields, 'Получатель'),
    ...member('receivedOn', fields.day('ДатаПоступило')),
    ...member('sentOn', fields.day('ДатаСписано')),
    purpose: readPurpose(fields),
  }
}

/** Before version 1.03 the name is in the same value as the number: `ИНН 7707083893 ООО Ромашка`. */
const nameWithInn = /^ИНН\s*(\d{10}|\d{12})(?:\s*КПП\s*\w{9})?\s+(.*)$/u

function readSide(fields: Fields, side: 'Плательщик' | 'Получатель'): PaymentSide {
  const [, innOfName = '', plainName] = nameWithInn.exec(fields.text(side)) ?? []
  return {
    account: cleanNumber(fields.text(`${side}Счет`, `${side}РасчСчет`)),
    inn: cleanNumber(fields.text(`${side}ИНН`)) || innOfName,
    kpp: cleanNumber(fields.text(`${side}КПП`)),
    name: cleanText(fields.text(`${side}1`) || (plainName ?? fields.text(side))),
    bic: cleanNumber(fields.text(`${side}БИК`)),
  }
}

/** In one value, or in lines 1 to 6. */
function readPurpose(fields: Fields): string {
  const whole = fields.text('НазначениеПлатежа')
  const parts = [1, 2, 3, 4, 5, 6].map(index => fields.text(`НазначениеПлатежа${index}`))
  return cleanText(whole || parts.join(' '))
}

/** A part of the file that is being parsed. */
interface OpenPart {
  readonly line: number
  readonly kind: 'account' | 'document'
  readonly fields: Fields
}

/**
 * Parses a file in the format 1CClientBankExchange, versions 1.01 to 1.03, entirely or not at all. Unknown keys are
 * skipped, and lines without a key, which a line break in a purpose makes.
 *
 * @throws StatementError with the line
 */
export function parseStatement(text: string): Statement {
  const reader = new StatementReader()
  let number = 0
  for (let begin = 0; begin < text.length;) {
    const found = text.indexOf('\n', begin)
    const end = found === -1 ? text.length : found
    number += 1
    reader.take(text.slice(begin, end).trimEnd(), number)
    begin = end + 1
  }
  return reader.finish(number)
}

class StatementReader {
  readonly #sections: AccountSection[] = []
  readonly #documents: StatementDocument[] = []
  #hasBegun = false
  #hasVersion = false
  #hasEnded = false
  #open: OpenPart | undefined

  take(line: string, number: number): void {
    if (line === '') return
    if (this.#hasEnded) {
      throw new StatementError(
        'goes_on',
        'goes on after КонецФайла; import files that were joined one by one',
        { line: number },
      )
    }
    if (!this.#hasBegun) {
      if (line !== '1CClientBankExchange') throw noStatement(number)
      this.#hasBegun = true
      return
    }
    const equals = line.indexOf('=')
    const key = (equals === -1 ? line : line.slice(0, equals)).trim()
    this.#takeKey(key, equals === -1 ? undefined : line.slice(equals + 1).trim(), number)
  }

  /** @throws StatementError when the file has been cut off */
  finish(lines: number): Statement {
    if (this.#open !== undefined) {
      const end = this.#open.kind === 'account' ? 'КонецРасчСчет' : 'КонецДокумента'
      throw new StatementError('section_cut', `has no ${end}: the file is cut off after line ${lines}`, {
        end,
        lines,
        line: this.#open.line,
      })
    }
    if (!this.#hasEnded)
      throw new StatementError('end_missing', 'КонецФайла is missing: the file is cut off', { line: lines })
    if (!this.#hasVersion)
      throw new StatementError('version_missing', 'ВерсияФормата is missing', { line: 1 })
    return { sections: this.#sections, documents: this.#documents }
  }

  #takeKey(key: string, value: string | undefined, line: number): void {
    switch (key) {
      case 'СекцияРасчСчет':
        this.#begin('account', '', line)
        break
      case 'СекцияДокумент':
        this.#begin('document', value ?? '', line)
        break
      case 'КонецРасчСчет':
        this.#sections.push(readSection(this.#end('account', key, line)))
        break
      case 'КонецДокумента':
        this.#documents.push(readDocument(this.#end('document', key, line)))
        break
      case 'КонецФайла':
        if (this.#open !== undefined) this.finish(line)
        this.#hasEnded = true
        break
      default:
        if (value !== undefined) this.#takeValue(key, value, line)
    }
  }

  #takeValue(key: string, value: string, line: number): void {
    if (this.#open !== undefined) {
      this.#open.fields.add(key, value, line)
    } else if (key === 'ВерсияФормата') {
      if (!versions.includes(value)) {
        const known = versions.join(', ')
        throw new StatementError('version_unknown', `has the version ${value}; ${known} are known`, {
          version: value,
          known,
          line,
        })
      }
      this.#hasVersion = true
    }
  }

  #begin(kind: OpenPart['kind'], name: string, line: number): void {
    if (this.#open !== undefined) {
      throw new StatementError(
        'section_within',
        `begins a section within the one of line ${this.#open.line}`,
        { other: this.#open.line, line },
      )
    }
    this.#open = { line, kind, fields: new Fields(name, line) }
  }

  #end(kind: OpenPart['kind'], key: string, line: number): Fields {
    const open = this.#open
    if (open?.kind !== kind)
      throw new StatementError('section_not_begun', `${key} ends a section that has not begun`, { key, line })
    this.#open = undefined
    return open.fields
  }
}

import { Fields, readDocument, readSection } from './read-fields.ts'
import type { AccountSection, Statement, StatementDocument } from './statement.ts'
import { StatementError } from './statement-error.ts'

const versions = ['1.01', '1.02', '1.03']

/** A part of the file that is being read. */
interface OpenPart {
  readonly line: number
  readonly kind: 'account' | 'document'
  readonly fields: Fields
}

/**
 * Reads a file in the format 1CClientBankExchange, versions 1.01 to 1.03, whole or not at all. Keys that we do not
 * know and lines that are no keys, which a line break in a purpose makes, are passed over.
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
      throw new StatementError('goes on after КонецФайла; import files that were joined one by one', number)
    }
    if (!this.#hasBegun) {
      if (line !== '1CClientBankExchange') {
        throw new StatementError('is no bank statement: it must begin with 1CClientBankExchange', number)
      }
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
      throw new StatementError(`has no ${end}: the file is cut off after line ${lines}`, this.#open.line)
    }
    if (!this.#hasEnded) throw new StatementError('КонецФайла is missing: the file is cut off', lines)
    if (!this.#hasVersion) throw new StatementError('ВерсияФормата is missing', 1)
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
        throw new StatementError(`has the version ${value}; ${versions.join(', ')} are known`, line)
      }
      this.#hasVersion = true
    }
  }

  #begin(kind: OpenPart['kind'], name: string, line: number): void {
    if (this.#open !== undefined) {
      throw new StatementError(`begins a section within the one of line ${this.#open.line}`, line)
    }
    this.#open = { line, kind, fields: new Fields(name, line) }
  }

  #end(kind: OpenPart['kind'], key: string, line: number): Fields {
    const open = this.#open
    if (open?.kind !== kind) throw new StatementError(`${key} ends a section that has not begun`, line)
    this.#open = undefined
    return open.fields
  }
}

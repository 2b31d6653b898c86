import type { Kopecks } from '../money/kopecks.ts'
import { ReasonedError, type ReasonDetails } from '../platform/reasoned-error.ts'

/** Why a bank statement cannot be accepted. */
export const statementCodes = [
  'account_none',
  'account_other',
  'amount_unreadable',
  'amount_zero',
  'day_uncovered',
  'day_unreadable',
  'encoding_broken',
  'encoding_unknown',
  'encoding_utf16',
  'end_missing',
  'goes_on',
  'key_missing',
  'no_statement',
  'payment_doubled',
  'section_cut',
  'section_not_begun',
  'section_within',
  'statement_large',
  'totals_differ',
  'totals_doubled',
  'value_long',
  'value_twice',
  'version_missing',
  'version_unknown',
] as const

/** A bank statement that cannot be accepted, not even in part. */
export class StatementError extends ReasonedError<(typeof statementCodes)[number]> {
  override readonly name = 'StatementError'
  /** Counted from 1; absent when the whole file is meant. */
  readonly line: number | undefined

  constructor(
    code: (typeof statementCodes)[number],
    message: string,
    { line, ...details }: ReasonDetails & { readonly line?: number } = {},
  ) {
    super(code, line === undefined ? message : `line ${line}: ${message}`, details)
    this.line = line
  }
}

/** One side of a payment as in a bank's file; what the file does not contain is an empty text. */
export interface PaymentSide {
  readonly account: string
  readonly inn: string
  readonly kpp: string
  readonly name: string
  readonly bic: string
}

/** A document of a statement. Days are ISO: `2026-01-11`. */
export interface StatementDocument {
  /** Its first line in the file, from 1. */
  readonly line: number
  readonly kind: string
  readonly number: string
  readonly date: string
  readonly amount: Kopecks
  readonly payer: PaymentSide
  readonly payee: PaymentSide
  /** When the payee's bank received it; absent for outgoing payments. */
  readonly receivedOn?: string
  /** When the payer's bank sent it. */
  readonly sentOn?: string
  readonly purpose: string
}

/** What a statement reports of an account over some days. */
export interface AccountSection {
  readonly line: number
  readonly account: string
  readonly from: string
  readonly to: string
  readonly opening?: Kopecks
  readonly received?: Kopecks
  readonly sent?: Kopecks
  readonly closing?: Kopecks
}

/** A file of the exchange between banks and 1C. */
export interface Statement {
  readonly sections: readonly AccountSection[]
  readonly documents: readonly StatementDocument[]
}

/** A year of a busy account. A larger file is refused before it is read. */
export const statementBytesMax = 32 * 1024 ** 2

/** The word that the head of every statement contains and that only the right decoding shows. */
const mark = /^ВерсияФормата=/m
/** It is in the first lines. */
const headBytes = 4096

/**
 * The text of a statement: UTF-8 if the bytes are valid UTF-8, else cp866 or windows-1251, whichever makes its head
 * readable. The encoding that the head names is ignored: the head itself is written in it, and banks get it wrong.
 *
 * @throws StatementError when it is too large, or readable in none of them
 */
export function decodeStatement(bytes: Uint8Array): string {
  if (bytes.length > statementBytesMax) {
    const megabytes = statementBytesMax / 1024 ** 2
    throw new StatementError(
      'statement_large',
      `the statement has ${bytes.length} bytes; at most ${megabytes} MB are read at once: export a shorter period`,
      { megabytes },
    )
  }
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    throw new StatementError(
      'encoding_utf16',
      'the statement is in UTF-16; export it in windows-1251, DOS (cp866) or UTF-8',
    )
  }
  const head = bytes.subarray(0, headBytes)
  for (const encoding of ['utf-8', 'windows-1251', 'ibm866']) {
    if (!mark.test(new TextDecoder(encoding).decode(head))) continue
    try {
      return new TextDecoder(encoding, { fatal: true }).decode(bytes)
    } catch (error) {
      throw new StatementError(
        'encoding_broken',
        `the statement begins in ${encoding} and goes on with bytes that are not`,
        { encoding, line: lineOfBreak(bytes, error) },
      )
    }
  }
  if (!new TextDecoder().decode(head.subarray(0, 64)).includes('1CClientBankExchange')) {
    throw noStatement(1)
  }
  throw new StatementError(
    'encoding_unknown',
    'ВерсияФормата cannot be read near the beginning; the statement must be in windows-1251, DOS (cp866) or UTF-8',
  )
}

/** A file that begins differently from every statement. */
export function noStatement(line: number): StatementError {
  return new StatementError('no_statement', 'is no bank statement: it must begin with 1CClientBankExchange', {
    line,
  })
}

/**
 * The line of the first bytes that are not UTF-8: of the three encodings only this one can be cut in the middle of a
 * character.
 */
function lineOfBreak(bytes: Uint8Array, error: unknown): number {
  if (!(error instanceof TypeError)) throw error
  const good = new TextDecoder('utf-8').decode(bytes).indexOf('\ufffd')
  return new TextDecoder('utf-8').decode(bytes).slice(0, good).split('\n').length
}

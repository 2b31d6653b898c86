import type { Kopecks } from '../money/kopecks.ts'

/** A bank statement that cannot be taken; nothing of it is. */
export class StatementError extends Error {
  override readonly name = 'StatementError'
  /** Counted from 1; absent where the whole file is meant. */
  readonly line: number | undefined

  constructor(message: string, line?: number) {
    super(line === undefined ? message : `line ${line}: ${message}`)
    this.line = line
  }
}

/** One side of a payment as a bank's file has it; what the file does not say is an empty text. */
export interface PaymentSide {
  readonly account: string
  readonly inn: string
  readonly kpp: string
  readonly name: string
  readonly bic: string
}

/** A document of a statement. Days are ISO: `2026-01-11`. */
export interface StatementDocument {
  /** Where it begins in the file, from 1. */
  readonly line: number
  readonly kind: string
  readonly number: string
  readonly date: string
  readonly amount: Kopecks
  readonly payer: PaymentSide
  readonly payee: PaymentSide
  /** When the payee's bank took it in; absent of what went out. */
  readonly receivedOn?: string
  /** When the payer's bank sent it. */
  readonly sentOn?: string
  readonly purpose: string
}

/** What a statement says of an account over some days. */
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

/** A year of a busy account. More is refused before it is read. */
export const statementBytesMax = 32 * 1024 ** 2

/** The word that every statement has in its head and that only the right decoding shows. */
const mark = /^ВерсияФормата=/m
/** It stands in the first lines. */
const headBytes = 4096

/**
 * The text of a statement: UTF-8 where the bytes are that, else cp866 or windows-1251, whichever makes its head
 * readable. What the head says of its encoding does not count: it is itself written in it, and banks get it wrong.
 *
 * @throws StatementError when it is too large, or readable in none of them
 */
export function decodeStatement(bytes: Uint8Array): string {
  if (bytes.length > statementBytesMax) {
    const megabytes = statementBytesMax / 1024 ** 2
    throw new StatementError(
      `the statement has ${bytes.length} bytes; at most ${megabytes} MB are read at once: export a shorter period`,
    )
  }
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    throw new StatementError('the statement is in UTF-16; export it in windows-1251, DOS (cp866) or UTF-8')
  }
  const head = bytes.subarray(0, headBytes)
  for (const encoding of ['utf-8', 'windows-1251', 'ibm866']) {
    if (!mark.test(new TextDecoder(encoding).decode(head))) continue
    try {
      return new TextDecoder(encoding, { fatal: true }).decode(bytes)
    } catch (error) {
      throw new StatementError(
        `the statement begins in ${encoding} and goes on with bytes that are not`,
        lineOfBreak(bytes, error),
      )
    }
  }
  if (!new TextDecoder().decode(head.subarray(0, 64)).includes('1CClientBankExchange')) {
    throw new StatementError('is no bank statement: it must begin with 1CClientBankExchange', 1)
  }
  throw new StatementError(
    'ВерсияФормата cannot be read near the beginning; the statement must be in windows-1251, DOS (cp866) or UTF-8',
  )
}

/** The line of the first bytes that are no UTF-8: the only encoding of the three that can break off. */
function lineOfBreak(bytes: Uint8Array, error: unknown): number {
  if (!(error instanceof TypeError)) throw error
  const good = new TextDecoder('utf-8').decode(bytes).indexOf('\ufffd')
  return new TextDecoder('utf-8').decode(bytes).slice(0, good).split('\n').length
}

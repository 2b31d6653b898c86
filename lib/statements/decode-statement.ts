import { StatementError } from './statement-error.ts'

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

import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'

/** So many characters tell nearly all rows apart; each costs a look at every row. */
const roughLetters = 3

/**
 * A condition that a column has a text somewhere, whatever the case of either; `%` and `_` stand for themselves. `lower`
 * of SQLite knows ASCII alone, and that of PostgreSQL what the database's locale does, so the other letters of the text
 * are put into lower case one by one, those of a long text only in rows that have its first ones in place.
 */
export function contains(column: string, text: string): RawBuilder<boolean> {
  const folded = Array.from(text, inLowerCase)
  const letters = [...new Set(folded)].filter(hasCapitalBeyondAscii)
  const whole = matches(column, folded, letters)
  if (letters.length <= roughLetters) return whole
  const open = new Set(letters.slice(roughLetters))
  const rough = folded.map(letter => (open.has(letter) ? undefined : letter))
  return sql<boolean>`(${matches(column, rough, letters.slice(0, roughLetters))} AND ${whole})`
}

/** @param text in lower case; undefined: any letter */
function matches(
  column: string,
  text: readonly (string | undefined)[],
  letters: readonly string[],
): RawBuilder<boolean> {
  const pattern = text.map(letter => letter?.replace(/[\\%_]/, '\\$&') ?? '_').join('')
  const value = letters.reduce(
    (within, letter) => sql<string>`replace(${within}, ${letter.toUpperCase()}, ${letter})`,
    sql<string>`lower(${sql.ref(column)})`,
  )
  return sql<boolean>`${value} LIKE ${`%${pattern}%`} ESCAPE '\\'`
}

function hasCapitalBeyondAscii(letter: string): boolean {
  const capital = letter.toUpperCase()
  return letter > '\u007F' && capital !== letter && inLowerCase(capital) === letter
}

/** A few letters become two in another case; they stay as they are. */
function inLowerCase(letter: string): string {
  const lower = letter.toLowerCase()
  return Array.from(lower).length === 1 ? lower : letter
}

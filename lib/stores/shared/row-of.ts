/** Columns of a table by name, each as PostgreSQL says what it holds: `BIGINT NOT NULL`. */
export type Columns = Readonly<Record<string, string>>

declare const held: unique symbol

/** Says of a column what its SQL does not: `'TEXT' as SqlOf<'bank_card' | 'sbp' | null>`. */
export type SqlOf<Value> = string & { readonly [held]: Value }

type Listed<List> = List extends `'${infer One}', ${infer More}`
  ? One | Listed<More>
  : List extends `'${infer One}'`
    ? One
    : never

/** One of a list where the column is checked to be, or else text or a number; null where the SQL allows it. */
type ValueOf<Sql> =
  Sql extends SqlOf<infer Value>
    ? Value
    : | (Sql extends `${string} IN (${infer List})${string}`
          ? Listed<List>
          : Sql extends `TEXT${string}`
            ? string
            : number)
      | (Sql extends `${string}${'NOT NULL' | 'PRIMARY KEY'}${string}` ? never : null)

/** A row as it is read, by the columns of its table. */
export type RowOf<Table extends Columns> = { readonly [Column in keyof Table]: ValueOf<Table[Column]> }

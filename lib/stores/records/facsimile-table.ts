import type { TableWords } from '../shared/table-words.ts'

/** An image of signature and stamp, kept by its bytes: a document prints the same after the file has changed. */
export interface FacsimileRow {
  /** The SHA-256 of the image's URL, in hex. */
  readonly id: string
  /** `data:image/png;base64,...` */
  readonly image: string
  /** Milliseconds since the epoch. */
  readonly kept_at: number
}

/** The table of facsimiles. */
export interface FacsimileTables {
  readonly facsimiles: FacsimileRow
}

/** Facsimiles, append-only. Rows are large, so they do not lie in the tree of the keys. */
export function facsimileTables({ integer, largeOptions, appendOnly }: TableWords): string {
  return `
CREATE TABLE facsimiles (
  id TEXT PRIMARY KEY,
  image TEXT NOT NULL,
  kept_at ${integer} NOT NULL
)${largeOptions};
${appendOnly('facsimiles', 'what was issued is not changed')}
`
}

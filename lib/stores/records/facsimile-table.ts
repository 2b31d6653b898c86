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

function facsimileTable(integer: 'INTEGER' | 'BIGINT', options: string): string {
  return `
CREATE TABLE facsimiles (
  id TEXT PRIMARY KEY,
  image TEXT NOT NULL,
  kept_at ${integer} NOT NULL
)${options};
`
}

const message = 'what was issued is not changed'

/** Facsimiles on SQLite. */
export const sqliteFacsimiles = `${facsimileTable('INTEGER', ' STRICT')}
CREATE TRIGGER facsimiles_stay_as_they_are BEFORE UPDATE ON facsimiles
BEGIN SELECT RAISE(ABORT, '${message}'); END;
CREATE TRIGGER facsimiles_stay BEFORE DELETE ON facsimiles
BEGIN SELECT RAISE(ABORT, '${message}'); END;
`

/** Facsimiles on PostgreSQL. */
export const postgresFacsimiles = `${facsimileTable('BIGINT', '')}
CREATE TRIGGER facsimiles_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON facsimiles
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('${message}');
`

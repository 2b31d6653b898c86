import type { ProviderObjectName, StoredUpload, UploadLimits } from '../../ledger/ledger.ts'
import type { TableWords } from './store-schema.ts'
import type { SqlStatement } from './store-queries.ts'

const columns = {
  /** Files that accounts have uploaded and providers keep, and uploads in progress, with the size of each. */
  stored_uploads: {
    provider: 'TEXT NOT NULL',
    kind: 'TEXT NOT NULL',
    /** The exchange's id while the provider has not named the upload yet. */
    id: 'TEXT NOT NULL',
    account_id: 'TEXT NOT NULL REFERENCES accounts (id)',
    bytes: 'BIGINT NOT NULL',
    /** When it expires; null: it stays until it is deleted. */
    until: 'BIGINT',
  },
  /** Their sums by account, written with them, so that an upload need not count ten thousand files. */
  upload_sums: {
    account_id: 'TEXT PRIMARY KEY REFERENCES accounts (id)',
    files: 'BIGINT NOT NULL',
    bytes: 'BIGINT NOT NULL',
  },
} as const

const add = `INSERT INTO upload_sums (account_id, files, bytes) VALUES (NEW.account_id, 1, NEW.bytes)
  ON CONFLICT (account_id) DO UPDATE SET files = upload_sums.files + 1, bytes = upload_sums.bytes + NEW.bytes;`
const subtract = `UPDATE upload_sums SET files = files - 1, bytes = bytes - OLD.bytes WHERE account_id = OLD.account_id;`
const sqliteSums = `CREATE TRIGGER uploads_added AFTER INSERT ON stored_uploads BEGIN ${add} END;
CREATE TRIGGER uploads_gone AFTER DELETE ON stored_uploads BEGIN ${subtract} END;`
const postgresSums = `CREATE FUNCTION sum_uploads() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN ${add} ELSE ${subtract} END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER uploads_summed AFTER INSERT OR DELETE ON stored_uploads FOR EACH ROW EXECUTE FUNCTION sum_uploads();`

const hourMs = 3_600_000

/** Creates the tables, with the files already known. Google keeps files for 48 hours, OpenAI a batch's for 30 days. */
export function uploadTables({ kind, table }: TableWords): string {
  const bytes = kind === 'sqlite' ? `facts ->> '$.bytes'` : `(facts::json ->> 'bytes')::bigint`
  return `
${table(columns, 'stored_uploads', ['PRIMARY KEY (provider, kind, id)'])}
${table(columns, 'upload_sums')}
CREATE INDEX stored_uploads_by_account ON stored_uploads (account_id, until);
${kind === 'sqlite' ? sqliteSums : postgresSums}
INSERT INTO stored_uploads (provider, kind, id, account_id, bytes, until)
  SELECT provider, kind, id, account_id, coalesce(${bytes}, 0),
    CASE WHEN id LIKE 'files/%' THEN created_at + ${48 * hourMs}
      WHEN facts LIKE '%"batch":%' THEN created_at + ${30 * 24 * hourMs} END
  FROM objects WHERE kind = 'file' AND listed_at IS NOT NULL AND coalesce(facts, '') NOT LIKE '%"resultsOf":%';
`
}

/** PostgreSQL requires the type of a selected parameter. */
const text = 'CAST(? AS TEXT)'
const own = 'provider = ? AND kind = ? AND id = ?'
const sums = `SELECT coalesce(max(files), 0) AS files, coalesce(max(bytes), 0) AS bytes FROM upload_sums
  WHERE account_id = ?`

/** The sums of an account, as `reserveStatements` return them. */
export interface UploadSums {
  readonly files: number
  readonly bytes: number
  readonly reserved: number
}

/**
 * Reserves space within the limits, and returns the account's sums after it. An upload with a reservation keeps it. The
 * account's row is locked first, so that concurrent nodes see each other's reservations.
 */
export function reserveStatements(
  { provider, kind, id, accountId, bytes, until }: StoredUpload & { readonly bytes: number },
  { filesMax, bytesMax }: UploadLimits,
  now: number,
): readonly SqlStatement[] {
  const name = [provider, kind, id]
  return [
    { sql: 'UPDATE accounts SET created_at = created_at WHERE id = ?', values: [accountId] },
    { sql: 'DELETE FROM stored_uploads WHERE account_id = ? AND until <= ?', values: [accountId, now] },
    {
      sql: `INSERT INTO stored_uploads (provider, kind, id, account_id, bytes, until)
        SELECT ${text}, ${text}, ${text}, ${text}, CAST(? AS BIGINT), CAST(? AS BIGINT)
        WHERE EXISTS (SELECT 1 FROM stored_uploads WHERE ${own}) OR EXISTS (SELECT 1 FROM (${sums}) AS kept
          WHERE kept.files < CAST(? AS BIGINT) AND kept.bytes <= CAST(? AS BIGINT))
        ON CONFLICT (provider, kind, id) DO UPDATE SET until = excluded.until`,
      values: [...name, accountId, bytes, until ?? null, ...name, accountId, filesMax, bytesMax - bytes],
    },
    {
      sql: `SELECT kept.*, (SELECT count(*) FROM stored_uploads WHERE ${own}) AS reserved FROM (${sums}) AS kept`,
      values: [...name, accountId],
    },
  ]
}

/** Renames an upload to the provider's id; it takes the given size, or the reserved one when there is none. */
export function keepStatements(
  from: ProviderObjectName,
  { provider, kind, id, accountId, bytes, until }: StoredUpload,
): readonly SqlStatement[] {
  const before = [from.provider, from.kind, from.id]
  return [
    {
      sql: `INSERT INTO stored_uploads (provider, kind, id, account_id, bytes, until)
        VALUES (?, ?, ?, ?, coalesce(CAST(? AS BIGINT), (SELECT bytes FROM stored_uploads WHERE ${own}), 0), ?)
        ON CONFLICT DO NOTHING`,
      values: [provider, kind, id, accountId, bytes ?? null, ...before, until ?? null],
    },
    forgetUpload(from),
  ]
}

/** Frees the space of an upload. */
export function forgetUpload({ provider, kind, id }: ProviderObjectName): SqlStatement {
  return { sql: `DELETE FROM stored_uploads WHERE ${own}`, values: [provider, kind, id] }
}

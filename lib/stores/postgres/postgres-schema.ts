import { errorCountTables } from '../records/error-count-table.ts'
import { invoicePartTables } from '../records/document-tables.ts'
import { withoutUnusedColumns, postgresWords, type StoreSchema } from '../shared/store-schema.ts'
import { baselineTables } from '../shared/ledger-schema.ts'
import { uploadTables } from '../shared/stored-uploads.ts'
import { applyOperations } from './postgres-apply.ts'

const refuseChange = `CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%', TG_ARGV[0];
END $$;`

const nodes = `CREATE SEQUENCE key_versions;
CREATE FUNCTION announce_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.version := nextval('key_versions');
  PERFORM pg_notify('gateway_keys', NEW.id);
  RETURN NEW;
END $$;
CREATE TRIGGER keys_are_announced BEFORE INSERT OR UPDATE ON keys FOR EACH ROW EXECUTE FUNCTION announce_key();

CREATE INDEX keys_by_version ON keys (version);
CREATE INDEX holds_open ON holds (account_id, key_id) WHERE state = 'open';

CREATE TABLE nodes (
  id TEXT PRIMARY KEY,
  lease_until TIMESTAMPTZ NOT NULL,
  seen_version BIGINT NOT NULL
);`

/**
 * Requests and tokens of keys by the minute, for the plugin rate-limit. Unlogged: counting writes no log to the disk,
 * and a crash of the database may lose a minute.
 */
const rateCounts = `CREATE UNLOGGED TABLE rate_counts (
  key TEXT PRIMARY KEY,
  points BIGINT NOT NULL,
  expire BIGINT
);`

/**
 * The tables of a PostgreSQL store: SQLite's, with what several nodes need. Accounts store what is held, so that one
 * row decides an admission; keys have a version, by which other nodes notice changes; nodes have a lease.
 */
export const postgresSchema: StoreSchema = {
  baseline: {
    version: 28,
    sql: [refuseChange, baselineTables(postgresWords), nodes, rateCounts, applyOperations].join('\n'),
  },
  steps: [
    { version: 28, sql: withoutUnusedColumns },
    { version: 29, sql: errorCountTables(postgresWords) },
    { version: 30, sql: invoicePartTables(postgresWords) },
    { version: 31, sql: uploadTables(postgresWords) },
  ],
}

/**
 * What users sign in with and what they agreed to, in the words of either store. The columns of `users` and of
 * the four tables after it are those that better-auth knows, under its names in lower case.
 */
function userTables(integer: 'INTEGER' | 'BIGINT', options: string): string {
  return `
ALTER TABLE users ADD COLUMN email_verified ${integer} NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN image TEXT;
ALTER TABLE users ADD COLUMN updated_at ${integer};
ALTER TABLE users ADD COLUMN two_factor_enabled ${integer} NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN language TEXT;

CREATE TABLE user_sessions (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES users (id),
  token TEXT NOT NULL UNIQUE,
  expires_at ${integer} NOT NULL,
  ip_address TEXT,
  user_agent TEXT,
  created_at ${integer} NOT NULL,
  updated_at ${integer} NOT NULL
)${options};
CREATE INDEX user_sessions_by_user ON user_sessions (user_id);
CREATE INDEX user_sessions_by_end ON user_sessions (expires_at);

CREATE TABLE user_passwords (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES users (id),
  account_id TEXT NOT NULL,
  provider_id TEXT NOT NULL,
  password TEXT,
  created_at ${integer} NOT NULL,
  updated_at ${integer} NOT NULL,
  UNIQUE (user_id, provider_id)
)${options};

CREATE TABLE user_verifications (
  id TEXT PRIMARY KEY,
  identifier TEXT NOT NULL,
  value TEXT NOT NULL,
  expires_at ${integer} NOT NULL,
  created_at ${integer} NOT NULL,
  updated_at ${integer} NOT NULL
)${options};
CREATE INDEX user_verifications_by_identifier ON user_verifications (identifier);
CREATE INDEX user_verifications_by_end ON user_verifications (expires_at);

CREATE TABLE user_two_factors (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL UNIQUE REFERENCES users (id),
  secret TEXT NOT NULL,
  backup_codes TEXT NOT NULL,
  verified ${integer} NOT NULL DEFAULT 0,
  failed_verification_count ${integer} NOT NULL DEFAULT 0,
  locked_until ${integer}
)${options};
`
}

/** What users agreed to, and what a store keeps for itself. */
function consentTables(integer: 'INTEGER' | 'BIGINT', options: string): string {
  return `
CREATE TABLE user_consents (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES users (id),
  kind TEXT NOT NULL CHECK (kind IN ('offer', 'personal-data')),
  version TEXT NOT NULL,
  language TEXT NOT NULL,
  address TEXT NOT NULL,
  at ${integer} NOT NULL
)${options};
CREATE INDEX user_consents_by_user ON user_consents (user_id);

CREATE TABLE secrets (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  created_at ${integer} NOT NULL
)${options};
`
}

const sqliteOptions = ' STRICT, WITHOUT ROWID'

/** The step that brings users to a SQLite store. */
export const sqliteUsers = `${userTables('INTEGER', sqliteOptions)}${consentTables('INTEGER', sqliteOptions)}
CREATE TRIGGER user_consents_stay_as_they_are BEFORE UPDATE ON user_consents
BEGIN SELECT RAISE(ABORT, 'consents are append-only'); END;
CREATE TRIGGER user_consents_stay BEFORE DELETE ON user_consents
BEGIN SELECT RAISE(ABORT, 'consents are append-only'); END;
`

/** The step that brings users to a PostgreSQL store. */
export const postgresUsers = `${userTables('BIGINT', '')}${consentTables('BIGINT', '')}
CREATE TRIGGER user_consents_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON user_consents
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('consents are append-only');
`

const isOfUnconfirmed = `EXISTS (SELECT 1 FROM users
  WHERE id = OLD.user_id AND email = 'unconfirmed-' || id || '@deleted.invalid')`

/** The step that lets a SQLite store forget who never confirmed the e-mail: all other consents stay. */
export const sqliteUnconfirmed = `
DROP TRIGGER user_consents_stay;
CREATE TRIGGER user_consents_stay BEFORE DELETE ON user_consents WHEN NOT ${isOfUnconfirmed}
BEGIN SELECT RAISE(ABORT, 'consents are append-only'); END;
`

/** The same for a PostgreSQL store. */
export const postgresUnconfirmed = `
DROP TRIGGER user_consents_stay ON user_consents;
CREATE TRIGGER user_consents_stay_as_they_are BEFORE UPDATE OR TRUNCATE ON user_consents
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('consents are append-only');
CREATE FUNCTION refuse_to_forget_consents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF ${isOfUnconfirmed} THEN RETURN OLD; END IF;
  RAISE EXCEPTION 'consents are append-only';
END $$;
CREATE TRIGGER user_consents_stay BEFORE DELETE ON user_consents
  FOR EACH ROW EXECUTE FUNCTION refuse_to_forget_consents();
`

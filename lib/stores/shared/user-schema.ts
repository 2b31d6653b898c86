import type { TableWords } from './table-words.ts'

/**
 * What somebody signs in with, in the words of either store. The columns are those that better-auth knows, under its
 * names in lower case.
 */
function signInTables(owner: 'user' | 'operator', { integer, options }: TableWords): string {
  return `
CREATE TABLE ${owner}_sessions (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES ${owner}s (id),
  token TEXT NOT NULL UNIQUE,
  expires_at ${integer} NOT NULL,
  ip_address TEXT,
  user_agent TEXT,
  created_at ${integer} NOT NULL,
  updated_at ${integer} NOT NULL
)${options};
CREATE INDEX ${owner}_sessions_by_user ON ${owner}_sessions (user_id);
CREATE INDEX ${owner}_sessions_by_end ON ${owner}_sessions (expires_at);

CREATE TABLE ${owner}_passwords (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES ${owner}s (id),
  account_id TEXT NOT NULL,
  provider_id TEXT NOT NULL,
  password TEXT,
  created_at ${integer} NOT NULL,
  updated_at ${integer} NOT NULL,
  UNIQUE (user_id, provider_id)
)${options};

CREATE TABLE ${owner}_verifications (
  id TEXT PRIMARY KEY,
  identifier TEXT NOT NULL,
  value TEXT NOT NULL,
  expires_at ${integer} NOT NULL,
  created_at ${integer} NOT NULL,
  updated_at ${integer} NOT NULL
)${options};
CREATE INDEX ${owner}_verifications_by_identifier ON ${owner}_verifications (identifier);
CREATE INDEX ${owner}_verifications_by_end ON ${owner}_verifications (expires_at);

CREATE TABLE ${owner}_two_factors (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL UNIQUE REFERENCES ${owner}s (id),
  secret TEXT NOT NULL,
  backup_codes TEXT NOT NULL,
  verified ${integer} NOT NULL DEFAULT 0,
  failed_verification_count ${integer} NOT NULL DEFAULT 0,
  locked_until ${integer}
)${options};
`
}

/** Who works in the operator's pages, and what they sign in with. */
function operatorTables(words: TableWords): string {
  const { integer, options } = words
  return `
CREATE TABLE operators (
  id TEXT PRIMARY KEY,
  email TEXT NOT NULL UNIQUE,
  name TEXT,
  role TEXT NOT NULL CHECK (role IN ('owner', 'finance', 'support')),
  created_at ${integer} NOT NULL,
  email_verified ${integer} NOT NULL DEFAULT 0,
  image TEXT,
  updated_at ${integer},
  two_factor_enabled ${integer} NOT NULL DEFAULT 0,
  language TEXT
)${options};
${signInTables('operator', words)}`
}

/** What users agreed to, and what a store keeps for itself. */
function consentTables({ kind, integer, options, refuse }: TableWords): string {
  const message = 'consents are append-only'
  const fixed = refuse({
    name: 'user_consents_stay_as_they_are',
    table: 'user_consents',
    when: kind === 'sqlite' ? 'UPDATE' : 'UPDATE OR TRUNCATE',
    message,
  })
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
${fixed}
${kind === 'sqlite' ? sqliteConsents : postgresConsents}
`
}

/** Who never confirmed the e-mail is forgotten; all other consents stay. */
const isOfUnconfirmed = `EXISTS (SELECT 1 FROM users
  WHERE id = OLD.user_id AND email = 'unconfirmed-' || id || '@deleted.invalid')`

const sqliteConsents = `CREATE TRIGGER user_consents_stay BEFORE DELETE ON user_consents WHEN NOT ${isOfUnconfirmed}
BEGIN SELECT RAISE(ABORT, 'consents are append-only'); END;`
const postgresConsents = `CREATE FUNCTION refuse_to_forget_consents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF ${isOfUnconfirmed} THEN RETURN OLD; END IF;
  RAISE EXCEPTION 'consents are append-only';
END $$;
CREATE TRIGGER user_consents_stay BEFORE DELETE ON user_consents
  FOR EACH ROW EXECUTE FUNCTION refuse_to_forget_consents();`

/** What users and operators sign in with, and what users agreed to. */
export function userTables(words: TableWords): string {
  return signInTables('user', words) + consentTables(words) + operatorTables(words)
}

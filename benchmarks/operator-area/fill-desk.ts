import { openForWriting } from '../../lib/stores/sqlite/sqlite-database.ts'

interface Filling {
  readonly rows: number
  readonly now: number
}

const chunkRows = 100_000
const days = 180
/** The first account has a tenth of all charges. */
const accounts = 20_000
const others = 100_000
/** Requests are found by their holds, in a primary key: holds of the latest ones suffice. */
const heldRows = 500_000

function numbers(count: number, from = 0): string {
  return `WITH RECURSIVE numbers (n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM numbers WHERE n < ${from + count - 1})`
}

const accountNumber = `(CASE WHEN n % 10 = 0 THEN 0 ELSE (n * 7919) % ${accounts} END)`
const account = `printf('account-%06d', ${accountNumber})`
/** One of the account's two keys. */
const key = `'key-' || (${accountNumber} + n / 10 % 2 * ${accounts})`
const id = `printf('%026d', n)`

/** Customers with users, keys, companies, payments, transfers, movements, notes, and operators' actions. */
function customers({ now }: Filling): string {
  const at = `${now - days * 86_400_000} + n * ${Math.floor((days * 86_400_000) / others)}`
  const account = `printf('account-%06d', n)`
  const owner = `printf('account-%06d', n % ${accounts})`
  return `
    INSERT INTO accounts (id, kind, name, email, balance_micros, created_at) ${numbers(accounts)}
      SELECT ${account}, 'customer', 'Customer ' || n, 'customer-' || n || '@example.org', (n * 7919) % 9000000000,
        ${now - 400 * 86_400_000} + n FROM numbers;
    INSERT INTO users (id, email, name, created_at, email_verified) ${numbers(accounts)}
      SELECT 'user-' || n, 'customer-' || n || '@example.org', 'Customer ' || n, ${now}, 1 FROM numbers;
    INSERT INTO memberships (user_id, account_id, role, created_at) ${numbers(accounts)}
      SELECT 'user-' || n, ${account}, 'owner', ${now} FROM numbers;
    INSERT INTO keys (id, account_id, digest, name, last_four, created_at) ${numbers(accounts * 2)}
      SELECT 'key-' || n, ${owner}, 'digest-' || n, 'key ' || n, substr('000' || (n % 10000), -4), ${now} + n
      FROM numbers;
    INSERT INTO companies (account_id, version, inn, details, created_at) ${numbers(1000)}
      SELECT ${account}, 1, printf('77%08d', n), '{"name":"ООО Клиент ' || n || '","inn":"77"}', ${now} - 5000000000
      FROM numbers;
    INSERT INTO payments (id, account_id, provider, provider_id, state, method, origin, amount_micros, receipt_email,
        idempotence_key, request, created_at, credited_at, ended_at) ${numbers(others)}
      SELECT 'payment-' || ${id}, ${owner}, 'sandbox', 'p' || n, iif(n % 20 = 0, 'canceled', 'succeeded'), 'bank_card',
        'customer', 1000000 * (1 + n % 5000), 'a@example.org', 'i' || n, '{}', ${at}, iif(n % 20 = 0, NULL, ${at}), ${at}
      FROM numbers;
    INSERT INTO entries (exchange_id, sequence, kind, account_id, amount_micros, at, reason) ${numbers(others)}
      SELECT 'payment:' || n, 0, 'credit', ${owner}, 1000000 * (1 + n % 5000), ${at}, 'in' FROM numbers;
    ${movements(now, 'account-000000', 400)}
    ${movements(now, 'account-000001', 10_000)}
    INSERT INTO alarms (id, kind, subject, state, count, first_at, last_at, details, closed_by, closed_at, reason)
      ${numbers(2000)}
      SELECT 'alarm-' || n, 'credential_suspended', 'openai#' || n, iif(n % 10 = 0, 'open', 'closed'), 1 + n % 50,
        ${at}, ${at}, '{}', iif(n % 10 = 0, NULL, 'olga@example.org'), iif(n % 10 = 0, NULL, ${at}), NULL FROM numbers;
    INSERT INTO transfers (id, received_on, number, date, amount_kopecks, payer_inn, payer_name, payer_account, purpose,
        state, reason, suggestions, account_id, revision, imported_at) ${numbers(20_000)}
      SELECT 'transfer-' || n, date(${now} / 1000 - n * 700, 'unixepoch'), n, date(${now} / 1000 - n * 700, 'unixepoch'),
        100 * (1 + n % 90000), '7700000000', 'ООО Клиент', '40702810', 'за услуги',
        CASE WHEN n % 100 = 0 THEN 'queued' ELSE 'credited' END, 'invoice', '[]',
        CASE WHEN n % 100 = 0 THEN NULL ELSE ${owner} END, 1, ${now} FROM numbers;
    INSERT INTO transfer_changes (transfer_id, revision, action, account_id, note, at)
      SELECT id, 1, 'credit', account_id, '', imported_at FROM transfers;
    INSERT INTO operator_actions (id, at, operator, action, account_id, reason) ${numbers(others)}
      SELECT 'action-' || ${id}, ${at}, iif(n % 3 = 0, 'pavel@example.org', 'olga@example.org'),
        iif(n % 1000 = 7, 'block', 'credit'), ${owner}, 'invoice' FROM numbers;
    INSERT INTO account_notes (id, account_id, at, operator, note) ${numbers(accounts)}
      SELECT 'note-' || n, ${account}, ${now}, 'olga@example.org', 'called' FROM numbers;`
}

/** Entries of one customer over all the days. */
function movements(now: number, accountId: string, count: number): string {
  const at = `${now - days * 86_400_000} + n * ${Math.floor((days * 86_400_000) / count)}`
  return `INSERT INTO entries (exchange_id, sequence, kind, account_id, amount_micros, at, reason) ${numbers(count)}
      SELECT 'credit:${accountId}:' || n, 0, 'credit', '${accountId}', 1000000, ${at}, 'invoice' FROM numbers;`
}

function charges({ rows, now }: Filling, from: number): string {
  const stepMs = Math.floor((days * 86_400_000) / rows)
  const at = `${now - rows * stepMs} + n * ${stepMs}`
  const count = Math.min(chunkRows, rows - from)
  const holds = `INSERT INTO holds (exchange_id, sequence, account_id, key_id, amount_micros, worst_micros, state, owner,
        created_at, expires_at, resolved_at) ${numbers(count, from)}
      SELECT ${id}, 0, ${account}, 'key-1', 1000, 1000, 'charged', 'bench', ${at}, ${at}, ${at} FROM numbers;`
  return `
    INSERT INTO charges (exchange_id, sequence, account_id, key_id, at, provider, model, dialect, operation, outcome,
        usage_source, lines, flags, amount_micros, overrun_micros) ${numbers(count, from)}
      SELECT ${id}, 0, ${account}, ${key}, ${at}, 'sandbox', 'model-' || (n % 5),
        'openai', 'chat', CASE WHEN n % 40 = 1 THEN 'aborted' WHEN n % 500 = 5 THEN 'refused' ELSE 'completed' END,
        'provider', '[]', '[]', 1000 + n % 90000, 0 FROM numbers;
    ${from + count > rows - heldRows ? holds : ''}`
}

const sums = `INSERT INTO charge_sums
    (account_id, day, model, key_id, outcome, charges, spent_micros, first_id, last_id)
  SELECT account_id, (at + 10800000) / 86400000, model, key_id, outcome, count(*), sum(amount_micros), min(id), max(id)
  FROM charges GROUP BY 1, 2, 3, 4, 5;
  INSERT INTO key_spending (key_id, day, spent_micros, last_at)
  SELECT key_id, day, sum(spent_micros), 0 FROM charge_sums GROUP BY 1, 2;`

/** Inserts the business of half a year directly into the tables of a new store that no other process has open. */
export function fillDesk(file: string, filling: Filling): void {
  const database = openForWriting(file)
  database.pragma('journal_mode = OFF')
  database.pragma('synchronous = OFF')
  database.pragma('cache_size = -1000000')
  database.pragma('foreign_keys = OFF')
  database.exec(customers(filling))
  // Created at the end, by one sort.
  database.exec('DROP INDEX charges_by_account')
  for (let from = 0; from < filling.rows; from += chunkRows) database.exec(charges(filling, from))
  database.exec('CREATE INDEX charges_by_account ON charges (account_id, id)')
  database.exec(sums)
  database.pragma('journal_mode = WAL')
  database.close()
}

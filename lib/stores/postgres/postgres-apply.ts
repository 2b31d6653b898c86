import { accountFunction, applyHold, applyMovement, riskFunction } from './postgres-apply-parts.ts'

/**
 * Applies a batch of operations as one statement, which is one transaction and one round trip. Operations run account
 * by account, in the same order on all nodes, so that they do not deadlock; those of one account run in the order they
 * arrived. The account's row is locked while its operations are decided.
 *
 * Every operation may be repeated when its result was lost: the function first checks the rows that the request's id
 * already has. It returns a row for each operation: its index, how it ended, and up to four amounts.
 */
export const applyOperations = `${riskFunction}${accountFunction}
DROP FUNCTION IF EXISTS apply_operations(JSON);
CREATE FUNCTION apply_operations(operations JSON)
RETURNS TABLE (index INTEGER, ending TEXT, one BIGINT, two BIGINT, three BIGINT, four BIGINT) LANGUAGE plpgsql AS $$
DECLARE
  o RECORD;
  account TEXT;
  is_known BOOLEAN;
  balance BIGINT;
  debt BIGINT;
  held BIGINT;
  worst BIGINT;
  paid_in BIGINT;
  risk BIGINT;
  key_held BIGINT;
  key_worst BIGINT;
  last_at BIGINT;
  hold_state TEXT;
  hold_amount BIGINT;
  hold_worst BIGINT;
  more_likely BIGINT;
  more_worst BIGINT;
  paid BIGINT;
  rest BIGINT;
  spent BIGINT;
  spent_keys TEXT[] := '{}';
  spent_days INTEGER[] := '{}';
  spent_amounts BIGINT[] := '{}';
  spent_costs BIGINT[] := '{}';
  spent_accounts TEXT[] := '{}';
  spent_models TEXT[] := '{}';
  spent_times BIGINT[] := '{}';
  spent_outcomes TEXT[] := '{}';
  spent_ids BIGINT[] := '{}';
  charge_id BIGINT;
BEGIN
  FOR o IN
    SELECT * FROM json_to_recordset(operations) AS given (
      i INTEGER, kind TEXT, exchange TEXT, sequence INTEGER, account TEXT, key TEXT, amount BIGINT, at BIGINT,
      owner TEXT, expires BIGINT, budget BIGINT, from_day INTEGER, until_day INTEGER, state TEXT, day INTEGER,
      provider TEXT, model TEXT, dialect TEXT, operation TEXT, outcome TEXT, source TEXT, lines TEXT, raw TEXT,
      details TEXT, flags TEXT, job_kind TEXT, job TEXT, due BIGINT, ended_by TEXT, worst BIGINT, untrusted BIGINT,
      risk_base BIGINT, risk_rate BIGINT, risk_max BIGINT)
    -- Prices have no account and are locked as they are written, so they are sorted, too.
    ORDER BY given.account COLLATE "C", CASE given.kind WHEN 'price' THEN given.exchange END COLLATE "C", given.i
  LOOP
    IF account IS DISTINCT FROM o.account THEN
      IF is_known THEN PERFORM write_account(account, balance, debt, held, worst, paid_in, last_at); END IF;
      account := o.account;
      SELECT balance_micros, debt_micros, held_micros, worst_micros, paid_micros
        INTO balance, debt, held, worst, paid_in
        FROM accounts WHERE id = account AND kind = 'customer' FOR NO KEY UPDATE;
      is_known := FOUND;
    END IF;
    index := o.i;
    one := NULL;
    two := NULL;
    three := NULL;
    four := NULL;
    last_at := coalesce(o.at, last_at);
    risk := risk_of(paid_in, o.risk_base, o.risk_rate, o.risk_max);

    IF o.kind = 'price' THEN
      INSERT INTO prices (hash, model, body, created_at) VALUES (o.exchange, o.model, o.lines, o.at)
        ON CONFLICT DO NOTHING;
      ending := 'done';

    ELSIF NOT is_known THEN
      ending := 'account_not_found';

    ELSIF o.kind = 'balance' THEN
      ending := 'done';

    ELSIF o.kind = 'object' THEN
      INSERT INTO objects (provider, kind, id, account_id, credential, exchange_id, dialect, facts, created_at,
          listed_at)
        VALUES (o.provider, o.operation, o.lines, account, o.owner, o.exchange, o.dialect, o.details, o.at, o.due)
        ON CONFLICT DO NOTHING;
      ending := 'done';

    ELSIF o.kind = 'job' THEN
      INSERT INTO jobs (provider, kind, id, exchange_id, sequence, account_id, key_id, credential, dialect,
          operation, model, facts, next_poll_at, deadline_at, created_at)
        VALUES (o.provider, o.job_kind, o.job, o.exchange, o.sequence, account, o.key, o.owner, o.dialect,
          o.operation, o.model, o.details, o.due, o.expires, o.at)
        ON CONFLICT DO NOTHING;
      IF FOUND THEN
        ending := 'job_opened';
        SELECT holds.state, amount_micros, worst_micros INTO hold_state, hold_amount, hold_worst FROM holds
          WHERE exchange_id = o.exchange AND holds.sequence = o.sequence AND account_id = account;
        IF hold_state = 'expired' THEN
          -- A lease that ran out released the money: as much of it as is free is set aside again.
          hold_amount := least(hold_amount, greatest(balance - debt - held, 0));
          held := held + hold_amount;
          worst := worst + hold_worst;
        ELSIF hold_state IS DISTINCT FROM 'open' THEN
          RAISE EXCEPTION 'the hold %/% is not open', o.exchange, o.sequence;
        END IF;
        UPDATE holds SET state = 'open', resolved_at = NULL, owner = 'jobs', expires_at = o.expires,
            amount_micros = hold_amount
          WHERE exchange_id = o.exchange AND holds.sequence = o.sequence;
      ELSIF EXISTS (SELECT 1 FROM jobs WHERE jobs.provider = o.provider AND jobs.kind = o.job_kind
          AND jobs.id = o.job AND exchange_id = o.exchange) THEN
        ending := 'job_opened';
      ELSE
        ending := 'job_known';
        UPDATE holds SET state = 'released', resolved_at = o.at
          WHERE exchange_id = o.exchange AND holds.sequence = o.sequence AND account_id = account
            AND holds.state = 'open'
          RETURNING amount_micros, worst_micros INTO hold_amount, hold_worst;
        IF FOUND THEN
          held := held - hold_amount;
          worst := worst - hold_worst;
        END IF;
      END IF;

    ${applyHold}

    ${applyMovement}

    ELSIF o.job IS NOT NULL AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.provider = o.provider
        AND jobs.kind = o.job_kind AND jobs.id = o.job AND account_id = account AND jobs.state = 'open') THEN
      -- The job has ended, for all nodes. Only the operation that ended it gets its first result again.
      SELECT CASE jobs.state WHEN 'charged' THEN 'charged' ELSE o.state END, charges.amount_micros, overrun_micros
        INTO ending, one, two
        FROM jobs LEFT JOIN charges ON charges.exchange_id = o.exchange AND charges.sequence = o.sequence
          AND revision = 0
        WHERE jobs.provider = o.provider AND jobs.kind = o.job_kind AND jobs.id = o.job AND resolved_by = o.ended_by;
      ending := coalesce(ending, 'job_ended');

    ELSIF o.kind = 'charge' THEN
      hold_state := 'open';
      IF o.job IS NOT NULL THEN
        UPDATE jobs SET state = 'charged', resolved_at = o.at, resolved_by = o.ended_by
          WHERE jobs.provider = o.provider AND jobs.kind = o.job_kind AND jobs.id = o.job;
      END IF;
      UPDATE holds SET state = 'charged', resolved_at = o.at
        WHERE exchange_id = o.exchange AND holds.sequence = o.sequence AND account_id = account
          AND holds.state = 'open'
        RETURNING amount_micros, worst_micros INTO hold_amount, hold_worst;
      IF NOT FOUND THEN
        -- A lease that ran out released the money; what was used is owed all the same.
        SELECT holds.state, 0, 0 INTO hold_state, hold_amount, hold_worst FROM holds
          WHERE exchange_id = o.exchange AND holds.sequence = o.sequence AND account_id = account;
        IF NOT FOUND THEN
          -- A database that failed may have lost its last commits. What was used is owed then, too.
          INSERT INTO holds (exchange_id, sequence, account_id, key_id, amount_micros, state, owner, created_at,
              expires_at, resolved_at)
            VALUES (o.exchange, o.sequence, account, o.key, 0, 'charged', '', o.at, o.at, o.at);
          hold_state := 'expired';
          hold_amount := 0;
          hold_worst := 0;
        END IF;
        UPDATE holds SET state = 'charged', resolved_at = o.at
          WHERE exchange_id = o.exchange AND holds.sequence = o.sequence AND holds.state = 'expired';
      END IF;
      IF hold_state IN ('open', 'expired') THEN
        -- A debt has used up all free money: then only this hold's own money can pay.
        paid := least(o.amount, greatest(balance - debt, held) - (held - hold_amount));
        rest := o.amount - paid;
        held := held - hold_amount;
        worst := worst - hold_worst;
        balance := balance - paid;
        debt := debt + rest;
        INSERT INTO charges (exchange_id, sequence, account_id, key_id, at, provider, model, dialect, operation,
            outcome, usage_source, lines, raw_usage, details, flags, amount_micros, overrun_micros)
          VALUES (o.exchange, o.sequence, account, o.key, o.at, o.provider, o.model, o.dialect, o.operation,
            o.outcome, o.source, o.lines, o.raw, o.details,
            CASE WHEN rest = 0 THEN o.flags WHEN o.flags = '[]' THEN '["overrun"]'
              ELSE left(o.flags, -1) || ',"overrun"]' END, paid, rest)
          RETURNING id INTO charge_id;
        IF paid > 0 THEN
          INSERT INTO entries (exchange_id, sequence, kind, account_id, amount_micros, at)
            VALUES (o.exchange, o.sequence, 'charge', account, -paid, o.at),
              (o.exchange, o.sequence, 'revenue', 'house:revenue', o.amount, o.at);
        ELSIF rest > 0 THEN
          INSERT INTO entries (exchange_id, sequence, kind, account_id, amount_micros, at)
            VALUES (o.exchange, o.sequence, 'revenue', 'house:revenue', o.amount, o.at);
        END IF;
        IF rest > 0 THEN
          INSERT INTO entries (exchange_id, sequence, kind, account_id, amount_micros, at)
            VALUES (o.exchange, o.sequence, 'overrun', 'house:overrun', -rest, o.at);
        END IF;
        spent_keys := spent_keys || o.key;
        spent_days := spent_days || o.day;
        spent_amounts := spent_amounts || paid;
        spent_costs := spent_costs || o.amount;
        spent_accounts := spent_accounts || account;
        spent_models := spent_models || o.model;
        spent_times := spent_times || o.at;
        spent_outcomes := spent_outcomes || o.outcome;
        spent_ids := spent_ids || charge_id;
        ending := 'charged';
        one := paid;
        two := rest;
      ELSIF hold_state = 'charged' THEN
        SELECT 'charged', amount_micros, overrun_micros INTO ending, one, two FROM charges
          WHERE exchange_id = o.exchange AND charges.sequence = o.sequence AND revision = 0;
      ELSE ending := 'hold_not_open';
      END IF;

    ELSE
      IF o.job IS NOT NULL THEN
        UPDATE jobs SET state = 'released', resolved_at = o.at, resolved_by = o.ended_by
          WHERE jobs.provider = o.provider AND jobs.kind = o.job_kind AND jobs.id = o.job;
      END IF;
      UPDATE holds SET state = o.state, resolved_at = o.at
        WHERE exchange_id = o.exchange AND holds.sequence = o.sequence AND account_id = account
          AND holds.state = 'open'
        RETURNING amount_micros, worst_micros INTO hold_amount, hold_worst;
      ending := 'hold_not_open';
      IF FOUND THEN
        held := held - hold_amount;
        worst := worst - hold_worst;
        ending := o.state;
      ELSIF o.kind = 'abandon' THEN
        -- It is unknown whether the hold was written. If it was not, this row keeps it from being written later.
        INSERT INTO holds (exchange_id, sequence, account_id, key_id, amount_micros, state, owner, created_at,
            expires_at, resolved_at)
          VALUES (o.exchange, o.sequence, account, o.key, o.amount, o.state, o.owner, o.at, o.expires, o.at)
          ON CONFLICT DO NOTHING;
      END IF;
    END IF;
    -- The account's amounts, for operations that need them and for those that the balance refused.
    IF o.kind IN ('balance', 'credit', 'debit') OR ending = 'balance' THEN
      one := balance - debt;
      two := held;
      three := worst;
      four := paid_in;
    END IF;
    RETURN NEXT;
  END LOOP;
  IF is_known THEN PERFORM write_account(account, balance, debt, held, worst, paid_in, last_at); END IF;
  INSERT INTO key_spending (key_id, day, spent_micros, last_at)
    SELECT key, day, sum(amount), max(at)
    FROM unnest(spent_keys, spent_days, spent_costs, spent_times) AS pending (key, day, amount, at)
    GROUP BY key, day ORDER BY key COLLATE "C", day
    ON CONFLICT (key_id, day) DO UPDATE SET spent_micros = key_spending.spent_micros + excluded.spent_micros,
      last_at = greatest(key_spending.last_at, excluded.last_at);
  INSERT INTO charge_sums (account_id, day, model, key_id, outcome, charges, spent_micros, first_id, last_id)
    SELECT payer, day, used, key, ended, count(*), sum(amount), min(number), max(number)
    FROM unnest(spent_accounts, spent_days, spent_models, spent_keys, spent_outcomes, spent_amounts, spent_ids)
      AS pending (payer, day, used, key, ended, amount, number)
    GROUP BY payer, day, used, key, ended
    ORDER BY payer COLLATE "C", day, used COLLATE "C", key COLLATE "C", ended
    ON CONFLICT (account_id, day, model, key_id, outcome) DO UPDATE SET
      charges = charge_sums.charges + excluded.charges,
      spent_micros = charge_sums.spent_micros + excluded.spent_micros,
      first_id = least(charge_sums.first_id, excluded.first_id),
      last_id = greatest(charge_sums.last_id, excluded.last_id);
END $$;
`

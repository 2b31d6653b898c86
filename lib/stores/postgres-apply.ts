/**
 * Applies a batch of operations as one statement, which is one transaction and one way to the database and
 * back. Operations go account by account, in one order for all nodes, so that nobody waits in a circle; those
 * of one account in the order they came in. The account's row is locked while its operations are decided.
 *
 * Every operation may be repeated when the answer to it was lost: what stands under its request id is looked
 * at before anything is done. Answers a row for each: its index, how it ended, and up to two amounts.
 */
export const applyOperations = `
CREATE OR REPLACE FUNCTION apply_operations(operations JSON)
RETURNS TABLE (index INTEGER, ending TEXT, one BIGINT, two BIGINT) LANGUAGE plpgsql AS $$
DECLARE
  o RECORD;
  account TEXT;
  is_known BOOLEAN;
  balance BIGINT;
  held BIGINT;
  hold_state TEXT;
  hold_amount BIGINT;
  paid BIGINT;
  rest BIGINT;
  spent BIGINT;
  spent_keys TEXT[] := '{}';
  spent_days INTEGER[] := '{}';
  spent_amounts BIGINT[] := '{}';
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
      details TEXT, flags TEXT, job_kind TEXT, job TEXT, due BIGINT,
      ended_by TEXT)
    -- Prices have no account, and are locked as they are written: in one order, too.
    ORDER BY given.account COLLATE "C", CASE given.kind WHEN 'price' THEN given.exchange END COLLATE "C", given.i
  LOOP
    IF account IS DISTINCT FROM o.account THEN
      IF is_known THEN
        UPDATE accounts SET balance_micros = balance, held_micros = held
          WHERE id = account AND (balance_micros <> balance OR held_micros <> held);
      END IF;
      account := o.account;
      SELECT balance_micros, held_micros INTO balance, held FROM accounts
        WHERE id = account AND kind = 'customer' FOR NO KEY UPDATE;
      is_known := FOUND;
    END IF;
    index := o.i;
    one := NULL;
    two := NULL;

    IF o.kind = 'price' THEN
      INSERT INTO prices (hash, model, body, created_at) VALUES (o.exchange, o.model, o.lines, o.at)
        ON CONFLICT DO NOTHING;
      ending := 'done';

    ELSIF NOT is_known THEN
      ending := 'account_not_found';

    ELSIF o.kind = 'balance' THEN
      ending := 'done';
      one := balance;
      two := held;

    ELSIF o.kind = 'object' THEN
      INSERT INTO objects (provider, kind, id, account_id, credential, exchange_id, facts, created_at)
        VALUES (o.provider, o.operation, o.lines, account, o.owner, o.exchange, o.details, o.at)
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
        SELECT holds.state, amount_micros INTO hold_state, hold_amount FROM holds
          WHERE exchange_id = o.exchange AND holds.sequence = o.sequence AND account_id = account;
        IF hold_state = 'expired' THEN
          -- A lease that ran out gave the money back: as much of it as is free is set aside anew.
          hold_amount := least(hold_amount, balance - held);
          held := held + hold_amount;
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
          RETURNING amount_micros INTO hold_amount;
        IF FOUND THEN held := held - hold_amount; END IF;
      END IF;

    ELSIF o.kind = 'hold' THEN
      ending := 'held';
      IF o.budget IS NOT NULL THEN
        SELECT coalesce(sum(part), 0) INTO spent FROM (
          SELECT spent_micros AS part FROM key_spending
            WHERE key_id = o.key AND day >= o.from_day AND day < o.until_day
          UNION ALL
          SELECT amount FROM unnest(spent_keys, spent_days, spent_amounts) AS pending (key, day, amount)
            WHERE key = o.key AND day >= o.from_day AND day < o.until_day) AS parts;
        SELECT coalesce(sum(amount_micros), 0) INTO hold_amount FROM holds
          WHERE holds.state = 'open' AND account_id = account AND key_id = o.key;
        IF o.amount > greatest(0, o.budget - spent - hold_amount) THEN
          ending := 'budget';
          one := spent;
          two := hold_amount;
        END IF;
      END IF;
      IF ending = 'held' AND o.amount > balance - held THEN
        ending := 'balance';
        one := balance - held;
      END IF;
      IF ending = 'held' THEN
        INSERT INTO holds (exchange_id, sequence, account_id, key_id, amount_micros, owner, created_at, expires_at)
          VALUES (o.exchange, o.sequence, account, o.key, o.amount, o.owner, o.at, o.expires)
          ON CONFLICT DO NOTHING;
        IF FOUND THEN held := held + o.amount;
        ELSE ending := 'hold_exists';
        END IF;
      END IF;

    ELSIF o.job IS NOT NULL AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.provider = o.provider
        AND jobs.kind = o.job_kind AND jobs.id = o.job AND account_id = account AND jobs.state = 'open') THEN
      -- Whoever ended it did so for all. Only what is sent again is answered as it was done.
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
        RETURNING amount_micros INTO hold_amount;
      IF NOT FOUND THEN
        -- A lease that ran out gave the money back; what was used is owed all the same.
        SELECT holds.state, 0 INTO hold_state, hold_amount FROM holds
          WHERE exchange_id = o.exchange AND holds.sequence = o.sequence AND account_id = account;
        IF NOT FOUND THEN
          -- A database that failed can have lost its last commits. What was used is owed also then.
          INSERT INTO holds (exchange_id, sequence, account_id, key_id, amount_micros, state, owner, created_at,
              expires_at, resolved_at)
            VALUES (o.exchange, o.sequence, account, o.key, 0, 'charged', '', o.at, o.at, o.at);
          hold_state := 'expired';
          hold_amount := 0;
        END IF;
        UPDATE holds SET state = 'charged', resolved_at = o.at
          WHERE exchange_id = o.exchange AND holds.sequence = o.sequence AND holds.state = 'expired';
      END IF;
      IF hold_state IN ('open', 'expired') THEN
        held := held - hold_amount;
        paid := least(o.amount, balance - held);
        rest := o.amount - paid;
        balance := balance - paid;
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
        RETURNING amount_micros INTO hold_amount;
      ending := 'hold_not_open';
      IF FOUND THEN
        held := held - hold_amount;
        ending := o.state;
      ELSIF o.kind = 'abandon' THEN
        -- Whether the hold was written is not known. Where it was not, it cannot be from now on.
        INSERT INTO holds (exchange_id, sequence, account_id, key_id, amount_micros, state, owner, created_at,
            expires_at, resolved_at)
          VALUES (o.exchange, o.sequence, account, o.key, o.amount, o.state, o.owner, o.at, o.expires, o.at)
          ON CONFLICT DO NOTHING;
      END IF;
    END IF;
    RETURN NEXT;
  END LOOP;
  IF is_known THEN
    UPDATE accounts SET balance_micros = balance, held_micros = held
      WHERE id = account AND (balance_micros <> balance OR held_micros <> held);
  END IF;
  INSERT INTO key_spending (key_id, day, spent_micros, last_at)
    SELECT key, day, sum(amount), max(at)
    FROM unnest(spent_keys, spent_days, spent_amounts, spent_times) AS pending (key, day, amount, at)
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

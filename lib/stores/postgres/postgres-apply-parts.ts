/**
 * The same as `riskOf` of `lib/ledger/risk.ts`; zero for a node of an earlier release, which does not send the rule.
 */
export const riskFunction = `
CREATE OR REPLACE FUNCTION risk_of(paid BIGINT, base BIGINT, rate BIGINT, most BIGINT) RETURNS BIGINT
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN paid > 0 AND most IS NOT NULL
    THEN least(base + paid / 1000000 * rate + paid % 1000000 * rate / 1000000, most) ELSE 0 END
$$;
`

/** Writes the new state of an account whose row is locked: free money first pays its debt. */
export const accountFunction = `
CREATE OR REPLACE FUNCTION write_account(
  account TEXT, balance BIGINT, debt BIGINT, held BIGINT, worst BIGINT, paid_in BIGINT, moment BIGINT)
RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
  repaid BIGINT := least(debt, balance - held);
  repayment TEXT;
BEGIN
  IF repaid > 0 THEN
    repayment := 'repayment:' || gen_random_uuid();
    INSERT INTO entries (exchange_id, sequence, kind, account_id, amount_micros, at)
      VALUES (repayment, 0, 'repayment', account, -repaid, moment),
        (repayment, 0, 'repaid', 'house:overrun', repaid, moment);
  ELSE repaid := 0;
  END IF;
  UPDATE accounts SET balance_micros = balance - repaid, debt_micros = debt - repaid, held_micros = held,
      worst_micros = worst, paid_micros = paid_in
    WHERE id = account AND (balance_micros <> balance - repaid OR debt_micros <> debt - repaid
      OR held_micros <> held OR worst_micros <> worst OR paid_micros <> paid_in);
END $$;
`

/** The branch of `apply_operations` that places and grows holds: it admits what fits both sums. */
export const applyHold = `ELSIF o.kind IN ('hold', 'grow') THEN
      ending := CASE o.kind WHEN 'hold' THEN 'held' ELSE 'grown' END;
      more_likely := o.amount;
      more_worst := coalesce(CASE risk WHEN 0 THEN o.untrusted END, o.worst, o.amount);
      IF o.kind = 'grow' THEN
        SELECT amount_micros, worst_micros INTO hold_amount, hold_worst FROM holds
          WHERE exchange_id = o.exchange AND holds.sequence = o.sequence AND account_id = account
            AND holds.state = 'open';
        IF NOT FOUND THEN ending := 'hold_not_open'; END IF;
        more_likely := greatest(more_likely - hold_amount, 0);
        more_worst := greatest(more_worst - hold_worst, 0);
      END IF;
      IF o.budget IS NOT NULL AND (more_worst > 0 OR more_likely > 0) THEN
        SELECT coalesce(sum(part), 0) INTO spent FROM (
          SELECT spent_micros AS part FROM key_spending
            WHERE key_id = o.key AND day >= o.from_day AND day < o.until_day
          UNION ALL
          SELECT cost FROM unnest(spent_keys, spent_days, spent_costs) AS pending (key, day, cost)
            WHERE key = o.key AND day >= o.from_day AND day < o.until_day) AS parts;
        SELECT coalesce(sum(amount_micros), 0), coalesce(sum(worst_micros), 0) INTO key_held, key_worst FROM holds
          WHERE holds.state = 'open' AND account_id = account AND key_id = o.key;
        IF more_worst > 0 AND (more_worst > o.budget - spent - key_worst + risk
            OR o.kind = 'hold' AND more_likely > o.budget - spent - key_held) THEN
          ending := 'budget';
          one := spent;
          two := key_held;
          three := key_worst;
          four := paid_in;
        END IF;
        IF o.kind = 'grow' THEN more_likely := least(more_likely, greatest(o.budget - spent - key_held, 0)); END IF;
      END IF;
      -- An operation that cannot cost anything always fits.
      IF ending IN ('held', 'grown') AND more_worst > 0 AND (more_worst > balance - debt + risk - worst
          OR o.kind = 'hold' AND more_likely > balance - debt - held) THEN
        ending := 'balance';
      END IF;
      IF ending = 'held' THEN
        INSERT INTO holds (exchange_id, sequence, account_id, key_id, amount_micros, worst_micros, owner, created_at,
            expires_at)
          VALUES (o.exchange, o.sequence, account, o.key, more_likely, more_worst, o.owner, o.at, o.expires)
          ON CONFLICT DO NOTHING;
        IF FOUND THEN
          held := held + more_likely;
          worst := worst + more_worst;
          one := more_worst;
        ELSE ending := 'hold_exists';
        END IF;
      ELSIF ending = 'grown' THEN
        more_likely := least(more_likely, greatest(balance - debt - held, 0));
        UPDATE holds SET amount_micros = hold_amount + more_likely, worst_micros = hold_worst + more_worst
          WHERE exchange_id = o.exchange AND holds.sequence = o.sequence;
        held := held + more_likely;
        worst := worst + more_worst;
        one := hold_amount + more_likely;
        two := hold_worst + more_worst;
      END IF;`

/** The branch of `apply_operations` that books money in and out. */
export const applyMovement = `ELSIF o.kind IN ('credit', 'debit') THEN
      rest := CASE o.kind WHEN 'debit' THEN -o.amount ELSE o.amount END;
      -- Money that was paid counts towards the risk until it is returned; starting credit and corrections never do.
      paid := CASE WHEN o.source IN ('starting', 'correction') THEN 0 ELSE rest END;
      IF EXISTS (SELECT 1 FROM entries WHERE exchange_id = o.exchange AND entries.sequence = 0
          AND kind = CASE o.source WHEN 'correction' THEN o.source ELSE o.kind END
          AND account_id = account AND amount_micros = rest) THEN
        ending := 'repeated';
      ELSIF o.kind = 'debit' AND (balance - debt + rest < held OR balance - debt + rest
          + risk_of(paid_in + paid, o.risk_base, o.risk_rate, o.risk_max) < worst) THEN
        ending := 'balance';
      ELSE
        INSERT INTO entries (exchange_id, sequence, kind, account_id, amount_micros, at, reason, source)
          VALUES (o.exchange, 0, CASE o.source WHEN 'correction' THEN o.source ELSE o.kind END, account, rest, o.at,
              o.details, nullif(o.source, 'correction')),
            (o.exchange, 0, CASE o.source WHEN 'correction' THEN 'corrected' ELSE 'cash' END,
              CASE o.source WHEN 'correction' THEN 'house:revenue' ELSE 'house:cash' END, -rest, o.at, o.details, NULL)
          ON CONFLICT DO NOTHING;
        IF FOUND THEN
          ending := 'booked';
          balance := balance + rest;
          paid_in := paid_in + paid;
        ELSE ending := 'idempotency_conflict';
        END IF;
      END IF;`

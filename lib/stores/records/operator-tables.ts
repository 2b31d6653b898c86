import type { TableWords } from '../shared/store-schema.ts'

/** What an operator may do: everything, money, or nothing but look. */
export type OperatorRole = 'owner' | 'finance' | 'support'

/** Somebody who works in the operator's pages. Times are milliseconds since the epoch. */
export interface OperatorRow {
  readonly id: string
  readonly email: string
  readonly name: string | null
  readonly role: OperatorRole
  readonly created_at: number
  readonly email_verified: number
  readonly two_factor_enabled: number
}

interface OperatorVerificationRow {
  readonly id: string
  readonly identifier: string
  readonly value: string
  readonly expires_at: number
  readonly created_at: number
  readonly updated_at: number
}

interface OfOperator {
  readonly id: string
  readonly user_id: string
}

/** The tables of operators. */
export interface OperatorTables {
  readonly operators: OperatorRow
  readonly operator_verifications: OperatorVerificationRow
  readonly operator_sessions: OfOperator
  readonly operator_passwords: OfOperator
  readonly operator_two_factors: OfOperator
}

/** What an operator has to look at: `open`, then `taken` by somebody, then `closed`; raised again, it is open again. */
export interface AlarmRow {
  readonly id: string
  /** The alarm's code. */
  readonly kind: string
  /** What it is about: a provider and its credential, an account, a payment; empty where there is one of it. */
  readonly subject: string
  readonly state: 'open' | 'taken' | 'closed'
  /** How often it was raised since it was opened. */
  readonly count: number
  /** Since it was opened; milliseconds since the epoch, as all times here. */
  readonly first_at: number
  readonly last_at: number
  /** What was known when it was raised last, as JSON. */
  readonly details: string
  readonly taken_by: string | null
  readonly taken_at: number | null
  /** An operator, or `gateway` where it ended by itself. */
  readonly closed_by: string | null
  readonly closed_at: number | null
  readonly reason: string | null
}

/** What somebody was told of an alarm last, and what is being tried. */
export interface AlarmMessageRow {
  readonly alarm_id: string
  /** `email`, or `webhook:NAME`. */
  readonly channel: string
  /** The opening that was told, by the alarm's `first_at`; 0: none yet. */
  readonly opened_at: number
  /** 1 when its end was told. */
  readonly is_closed: number
  /** Attempts to tell what comes next. */
  readonly attempts: number
  /** Nobody tries before; who tries moves it on first. */
  readonly next_at: number
}

/** The tables of alarms. */
export interface AlarmTables {
  readonly alarms: AlarmRow
  readonly alarm_messages: AlarmMessageRow
}

/** Alarms and what was told of them. */
export function alarmTables({ integer, options }: TableWords): string {
  return `
CREATE TABLE alarms (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('open', 'taken', 'closed')),
  count ${integer} NOT NULL,
  first_at ${integer} NOT NULL,
  last_at ${integer} NOT NULL,
  details TEXT NOT NULL,
  taken_by TEXT,
  taken_at ${integer},
  closed_by TEXT,
  closed_at ${integer},
  reason TEXT,
  UNIQUE (kind, subject),
  CHECK ((state = 'closed') = (closed_at IS NOT NULL))
)${options};

CREATE TABLE alarm_messages (
  alarm_id TEXT NOT NULL REFERENCES alarms (id),
  channel TEXT NOT NULL,
  opened_at ${integer} NOT NULL,
  is_closed ${integer} NOT NULL,
  attempts ${integer} NOT NULL,
  next_at ${integer} NOT NULL,
  PRIMARY KEY (alarm_id, channel)
)${options};
`
}

/** What an operator has switched of a provider, or of one of its credentials. Times are milliseconds since the epoch. */
interface ProviderSwitchRow {
  readonly provider: string
  /** `openai#1`; empty: the whole provider. */
  readonly credential: string
  readonly is_paused: number
  /** When rests were ended last; 0: never. */
  readonly tried_at: number
}

/** The table of providers that operators have switched; all nodes act by it. */
export interface ProviderTables {
  readonly provider_switches: ProviderSwitchRow
}

/** Switches. */
export function providerTables({ integer, options }: TableWords): string {
  return `
CREATE TABLE provider_switches (
  provider TEXT NOT NULL,
  credential TEXT NOT NULL,
  is_paused ${integer} NOT NULL,
  tried_at ${integer} NOT NULL,
  PRIMARY KEY (provider, credential)
)${options};
`
}

/** The Central Bank's rate of a day, as it was found first. Times are milliseconds since the epoch. */
export interface RateRow {
  /** `2026-11-24`, in Moscow. */
  readonly day: string
  /** Roubles for a dollar, a decimal. */
  readonly usd_rub: string
  /** `held`: it differs too much from the one before, and is not used until somebody accepts it. */
  readonly state: 'used' | 'held'
  readonly found_at: number
  readonly accepted_at: number | null
}

/** The table of rates. */
export interface RateTables {
  readonly exchange_rates: RateRow
}

/** Rates. */
export function rateTables({ integer, options }: TableWords): string {
  return `
CREATE TABLE exchange_rates (
  day TEXT PRIMARY KEY,
  usd_rub TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('used', 'held')),
  found_at ${integer} NOT NULL,
  accepted_at ${integer}
)${options};
`
}

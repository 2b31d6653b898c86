import type { TableWords } from '../shared/table-words.ts'

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

/**
 * What plugins tell each other about an exchange, by name. The gateway's facts are declared in
 * lib/routes/exchange-facts.ts; a plugin of your own adds its facts the same way, by declaration merging.
 */
// oxlint-disable-next-line typescript/no-empty-interface -- filled by declaration merging
export interface Facts {}

/** The name of something known of an exchange. */
export type Fact = keyof Facts

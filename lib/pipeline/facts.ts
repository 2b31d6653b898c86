/**
 * What is known of an exchange, by name. Each fact is declared by whoever owns its type, beside it, by declaration
 * merging; so nobody has to know them all.
 */
// oxlint-disable-next-line typescript/no-empty-interface -- filled by declaration merging
export interface Facts {}

/** The name of something known of an exchange. */
export type Fact = keyof Facts

/** Flags that say why a charge is what it is, and are nothing that an operator should look at. */
const reasons: readonly string[] = ['provider_refused', 'provider_error', 'reasoning_estimated']

/** The flags of a charge that an operator should look at. */
export function alarmsAmong(flags: readonly string[]): readonly string[] {
  return flags.length === 0 ? flags : flags.filter(flag => !reasons.includes(flag))
}

/** Flags as a charge that was refused has them in its column, where nothing about it is odd. */
export const unremarkableFlags: readonly string[] = [[], ...reasons.map(reason => [reason])].map(flags =>
  JSON.stringify(flags),
)

/** https://console.groq.com/docs/speech-to-text: what is shorter is billed as so many seconds. */
const leastSeconds: ReadonlyMap<string, number> = new Map([['groq', 10]])

/** For how many seconds of audio a provider bills so many, by the provider's kind. */
export function billedSeconds(seconds: number, providerKind: string): number {
  return Math.max(leastSeconds.get(providerKind) ?? 0, seconds)
}

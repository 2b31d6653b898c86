/** What may follow a model's name in the name of one of its snapshots. */
const snapshotEnding =
  /^(?:[-@](?:\d{3,4}|\d{4}-?\d{2}-?\d{2}|\d{2}-\d{2}|latest|preview|exp|\d{3}))*(?::[a-z0-9]+)?$/

/** Answers name a dated snapshot (`gpt-5-2025-08-07`) or a path (`models/gemini-...`) of the model asked for. */
export function isSameModel(answered: string, asked: string): boolean {
  const plain = lastSegment(answered)
  const wanted = lastSegment(asked)
  if (plain.startsWith(wanted)) return snapshotEnding.test(plain.slice(wanted.length))
  return wanted.startsWith(plain) && snapshotEnding.test(wanted.slice(plain.length))
}

/** Vendors and folders before the name differ between a provider and its resellers. */
function lastSegment(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1).toLowerCase()
}

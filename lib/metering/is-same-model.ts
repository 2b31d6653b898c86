/** A day in a name, and what else tells snapshots of one model apart. */
const dates = /(?:^|[-@:])(?:\d{4}-\d{2}-\d{2}|\d{2}-\d{2}|\d{8})(?=$|[-@:])/g
const snapshotWords = /^(?:\d{3,4}|v\d|latest|preview|exp|0)$/

/** Names that their providers document as standing for models of other names: what they answer with begins so. */
const aliases: ReadonlyMap<string, string> = new Map([
  // https://api-docs.deepseek.com/quick_start/pricing: both are modes of the model of the day.
  ['deepseek-chat', 'deepseek-v'],
  ['deepseek-reasoner', 'deepseek-v'],
  // Recorded: the plain name of a family is its largest model.
  ['gpt-5.6', 'gpt-5.6-sol'],
])

/**
 * Whether an answer's name is of the model that was asked for: a dated snapshot (`gpt-5-2025-08-07`), a path
 * (`models/gemini-...`), the same words in another order (`claude-haiku-4.5`, `claude-4.5-haiku-20251001`), the
 * version that a `-latest` stands for, or a documented alias.
 */
export function isSameModel(answered: string, asked: string): boolean {
  const plain = lastSegment(answered)
  const wanted = lastSegment(asked)
  if (plain === wanted) return true
  const alias = aliases.get(wanted)
  if (alias !== undefined && plain.startsWith(alias)) return true
  const ours = wordsOf(plain)
  const theirs = wordsOf(wanted)
  if (ours.join() === theirs.join()) return true
  return wanted.endsWith('-latest') && withoutVersions(ours) === withoutVersions(theirs)
}

/** In order, so that their order in the name does not matter. */
function wordsOf(name: string): readonly string[] {
  const words = withoutVariant(name)
    .replaceAll(dates, '')
    .split(/[-.@_]/)
  return words.filter(word => word !== '' && !snapshotWords.test(word)).toSorted()
}

function withoutVersions(words: readonly string[]): string {
  return words.filter(word => !/^\d+$/.test(word)).join()
}

/** OpenRouter's `:free` and the like, and the date that OpenAI's oldest models have there. */
function withoutVariant(name: string): string {
  const colon = name.indexOf(':')
  return colon === -1 ? name : name.slice(0, colon)
}

/** Vendors and folders before the name differ between a provider and its resellers. */
function lastSegment(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1).toLowerCase()
}

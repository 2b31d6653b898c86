/**
 * The form under which two spellings of a key count as one: lower-case, and without underscores where
 * snake and camel case mean the same (Google). Go's decoder also takes the long s and the Kelvin sign for
 * `s` and `k`, so they fold too.
 */
export function fold(key: string, foldUnderscores: boolean): string {
  let folded = key.toLowerCase()
  if (folded.includes('\u017f')) folded = folded.replaceAll('\u017f', 's')
  if (foldUnderscores && folded.includes('_')) folded = folded.replaceAll('_', '')
  return folded
}

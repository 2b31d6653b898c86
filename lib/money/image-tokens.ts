/** Of images in OpenAI's table, the larger shape of each quality. */
const tokensByQuality = new Map([
  ['low', 408],
  ['medium', 1584],
  ['high', 6240],
])

/** The tokens of an image that nobody has counted. */
export function imageTokens(quality: string | undefined): number {
  return tokensByQuality.get(quality ?? '') ?? 1584
}

/** Anybody may ask for paths as long as a head may be: neither answers nor the log repeat all of one. */
const charactersMax = 200

/** As much of a path as an error says. */
export function shownPath(path: string): string {
  return path.length <= charactersMax ? path : `${path.slice(0, charactersMax)}...`
}

/**
 * What a file says of its length, unless what it holds is clearly longer: players go by what is there, so a file that
 * says a second and holds an hour is an hour long. Padding and the last frame of a recording make no difference.
 */
export function believedSeconds(said: number | undefined, held: number): number | undefined {
  const seconds = said === undefined || held > said * 1.01 + 0.5 ? held : said
  return seconds > 0 ? seconds : undefined
}

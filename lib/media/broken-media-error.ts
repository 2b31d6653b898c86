/** The content begins as one thing and cannot be it: no reader of that format gets anything out of it. */
export class BrokenMediaError extends Error {
  override readonly name = 'BrokenMediaError'
}

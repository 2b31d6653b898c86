/** A quarter of the turns stay below what is judged: compiling, and others on the machine, move it less than the median. */
export const calmShare = 0.25

/** What a build may not pass; how it was chosen stands in benchmarks/README.md. */
export const bounds = {
  /** CPU a request of all threads, as a multiple of the bare relay's in the same run, in a calm turn. */
  strict: 8,
  relaxed: 8,
  /** CPU a frame, in the same way. */
  frame: 1.5,
  /** Of the young generation at a collection. */
  survivorPercent: 10,
} as const

/** What a build may not pass; how it was chosen stands in benchmarks/README.md. */
export const bounds = {
  /** CPU a request of all threads, as a multiple of the bare relay's in the same run. */
  strict: 9,
  relaxed: 9,
  /** CPU a frame of all threads, as a multiple of the bare relay's in the same run. */
  frame: 1.8,
  /** Of the young generation at a collection. */
  survivorPercent: 10,
} as const

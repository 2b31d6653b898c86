/** A quarter of the turns are below the judged value: compiling and other load affect it less than the median. */
export const calmShare = 0.25

/** The bounds of a build; benchmarks/README.md explains the choice. */
export const bounds = {
  /** The CPU of a request, all threads, as a multiple of the bare relay's in the same run, in a calm turn. */
  strict: 8,
  relaxed: 8,
  /** The CPU of a frame, in the same way. */
  frame: 1.5,
  /** Of the young generation at a collection. */
  survivorPercent: 10,
} as const

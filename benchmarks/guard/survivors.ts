/** The collector's figures of the young generation. */
export interface Survivors {
  readonly collections: number
  /** In percent of the young generation: the bytes that a collection copied or promoted. */
  readonly percent: number
  /** Full collections before the last young one. */
  readonly fullCollections: number
}

/** Reads the output of `--trace-gc-nvp` from a byte on, of the thread that wrote first: the main one. */
export function survivors(trace: string, from: number): Survivors {
  const isolate = /^\[\d+:(0x[0-9a-f]+)/m.exec(trace)?.[1] ?? ''
  const linesOf = (text: string): readonly string[] =>
    text.split('\n').filter(line => line.includes(`:${isolate}`))
  // The line that was being written when the counting began is not whole.
  const young = linesOf(trace.slice(from)).filter(line => kindOf(line) === 's')
  const percents = young.flatMap(line => {
    const copied = figure(line, 'new_space_survive_rate')
    const moved = figure(line, 'promotion_ratio')
    return copied === undefined || moved === undefined ? [] : [copied + moved]
  })
  if (percents.length === 0) throw new Error('The collector said nothing that could be read.')
  const sum = percents.reduce((total, percent) => total + percent, 0)
  return {
    collections: percents.length,
    percent: sum / percents.length,
    fullCollections: linesOf(trace).filter(line => kindOf(line) === 'mc').length,
  }
}

/** `"gc":"s"` as Node 26 writes it, `gc=s` as earlier versions did. */
function kindOf(line: string): string | undefined {
  return /\bgc"?[:=]"?(\w+)/.exec(line)?.[1]
}

/** Older versions write an underscore after the name, and a percent sign after the figure. */
function figure(line: string, name: string): number | undefined {
  const text = new RegExp(`\\b${name}_?"?[:=]([\\d.]+)`).exec(line)?.[1]
  return text === undefined ? undefined : Number(text)
}

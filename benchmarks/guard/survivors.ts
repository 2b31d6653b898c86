/** What the collector said of the young generation. */
export interface Survivors {
  readonly collections: number
  /** Of all the young generation, in percent: what a collection copied or moved to the old one. */
  readonly percent: number
  /** Full collections before the last of them: what is left alive by one is seen only after it. */
  readonly fullCollections: number
}

/** Reads what `--trace-gc-nvp` wrote from a byte on, of the thread that wrote first: the main one. */
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

/** `"gc":"s"` as Node 26 writes it, `gc=s` as those before it did. */
function kindOf(line: string): string | undefined {
  return /\bgc"?[:=]"?(\w+)/.exec(line)?.[1]
}

/** Elder ones write an underscore behind the name, and a percent sign behind the figure. */
function figure(line: string, name: string): number | undefined {
  const text = new RegExp(`\\b${name}_?"?[:=]([\\d.]+)`).exec(line)?.[1]
  return text === undefined ? undefined : Number(text)
}

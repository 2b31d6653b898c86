import type { Interest } from '../http/json-scan.ts'
import { AnswerReader } from './answer-reader.ts'
import type { AnswerHead, Operation, UsageReaderContext } from './dialect.ts'
import type { AnswerMeasure } from './measure.ts'
import { objectOperation } from './free-operation.ts'

/** Reads the answer to files that went into a store. No provider tells what it bills for them: their size does. */
class StoredFilesReader extends AnswerReader {
  constructor(head: AnswerHead, context: UsageReaderContext, interest: Interest) {
    super(head, context, interest)
    this.isFree = true
  }

  protected override measure(): AnswerMeasure {
    this.flags.add('size_estimated')
    return { lines: [{ meters: this.context.facts.units ?? {} }], details: {} }
  }
}

/**
 * An operation that puts files into a store, charged by their bytes.
 * @param answer where it names objects, by `names`
 */
export function storedFilesOperation(
  name: string,
  answer: Interest,
  options: NonNullable<Parameters<typeof objectOperation>[2]> &
    Required<Pick<Operation, 'defaultModel' | 'unitsOfFiles'>> & {
      readonly mainMeter: Operation['mainMeter']
    },
): Operation {
  const { mainMeter, ...others } = options
  return {
    ...objectOperation(name, answer, others),
    isFree: false,
    mainMeter,
    readUsage: (head, context) => new StoredFilesReader(head, context, answer),
  }
}

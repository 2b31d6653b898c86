import type { BodyKind, Operation, HeadFacts, UsageReaderContext } from './dialect.ts'
import type { Interest } from '../http/json-scan.ts'
import { ResponseReader } from './response-reader.ts'
import { factsFrom } from './request-facts.ts'
import type { ResponseMeasure } from './measure.ts'
import type { ObjectKind, NamedObject } from '../money/usage.ts'
import { object, value } from './interest.ts'
import { names } from './named-objects.ts'

/** Reads the answer to files that went into a store. No provider tells what it bills for them: their size does. */
class StoredFilesReader extends ResponseReader {
  constructor(head: HeadFacts, context: UsageReaderContext, interest: Interest) {
    super(head, context, interest)
    this.isFree = true
  }

  protected override measure(): ResponseMeasure {
    this.flags.add('size_estimated')
    return { lines: [{ meters: this.context.facts.units ?? {} }], details: {} }
  }
}

/**
 * An operation that puts files into a store, charged by their bytes.
 * @param response where it names objects, by `names`
 */
export function storedFilesOperation(
  name: string,
  response: Interest,
  options: NonNullable<Parameters<typeof objectOperation>[2]> &
    Required<Pick<Operation, 'defaultModel' | 'unitsOfFiles'>> & {
      readonly mainMeter: Operation['mainMeter']
    },
): Operation {
  const { mainMeter, ...others } = options
  return {
    ...objectOperation(name, response, others),
    isFree: false,
    mainMeter,
    readUsage: (head, context) => new StoredFilesReader(head, context, response),
  }
}

/** An operation that costs nothing and reports nothing: no hold, no charge. */
export function freeOperation(
  name: string,
  options: Partial<Omit<Operation, 'name' | 'isFree' | 'mainMeter'>> = {},
): Operation {
  const body: BodyKind = options.body ?? 'none'
  return { modelIn: 'none', ...options, name, body, isFree: true, mainMeter: 'requests' }
}

/** An operation that is charged; a model that has no price for its main meter is refused. */
export function paidOperation(
  name: string,
  mainMeter: Operation['mainMeter'],
  options: Partial<Omit<Operation, 'name' | 'isFree' | 'mainMeter'>>,
): Operation {
  return { body: 'json', modelIn: 'body', ...options, name, isFree: false, mainMeter }
}

/** OpenAI, and what answers as it does here. */
export const atOpenai: ReadonlySet<string> = new Set(['openai', 'sandbox'])

/** An operation that is refused with 501 and this reason. */
export function unsupportedOperation(name: string, reason: string): Operation {
  return { name, body: 'opaque', modelIn: 'none', isFree: true, mainMeter: 'requests', unsupported: reason }
}

/**
 * A free operation whose answer names objects, so that they are recorded.
 * @param response where the names stand, by `names`
 */
export function objectOperation(
  name: string,
  response: Interest,
  options: Parameters<typeof freeOperation>[1] = {},
): Operation {
  return {
    ...freeOperation(name, options),
    ...(options.interest !== undefined && { factsFromJson: factsFrom }),
    readUsage: (head, context) => new ResponseReader(head, context, response),
    namesObjects: true,
  }
}

/**
 * How the jobs of one kind are asked after, by clients and by the gateway itself. Readers say what they saw
 * in `UsageReading.job`; to them a job's facts are those of its submission (units, variant, model).
 */
export interface JobKind {
  readonly kind: ObjectKind
  /** Whose `readUsage` reads the answer at `path`. */
  readonly retrieval: Operation
  /** Whose `readUsage` reads the document that `JobSighting.resultsPath` names. */
  readonly results?: Operation
  /** Below the dialect's base URL, where a provider of this kind has it. */
  path(id: string, providerKind: string): string
  /** After so long a job has ended, whatever is known of it. */
  readonly durationMsMax: number
  /** It is a rent: what the job is about is paid for again whenever so long has passed, until it is there no more. */
  readonly rentMs?: number
}

/** What can be asked of a job by its id. */
interface JobOperations {
  /** How it stands, and what came of it. */
  readonly stored: Operation
  /** The same, after it was told to stop. */
  readonly cancelled: Operation
  /** It is taken away. */
  readonly deleted: Operation
}

/**
 * What is asked of a job by its id, which is free: the submission pays.
 * @param of the kind's name in those of the operations: `batch`
 */
export function jobOperations(of: string, readUsage: NonNullable<Operation['readUsage']>): JobOperations {
  const stored: Operation = { ...freeOperation(`stored-${of}`), readUsage, namesObjects: true, job: 'reads' }
  return {
    stored,
    cancelled: { ...stored, body: 'opaque' },
    deleted: { ...freeOperation(`deleted-${of}`, { body: 'opaque' }), job: 'ends', isDeletion: true },
  }
}

const keptBytes = value('keptBytes')
const keptUntil = value('keptUntil')

const told = {
  bytes: keptBytes,
  size_bytes: keptBytes,
  sizeBytes: keptBytes,
  expires_at: keptUntil,
  expirationTime: keptUntil,
}

/** A file in an answer of any provider: its name, its size, and when it is deleted by itself. */
export function keptFile(member: 'id' | 'name'): Interest {
  return object({ [member]: names('file'), ...told })
}

/** Reads the answer to an upload. */
class KeptFileReader extends ResponseReader {
  #kept: NonNullable<NamedObject['kept']> = {}

  override takeObjects(): readonly NamedObject[] {
    return super.takeObjects().map(named => ({ ...named, kept: this.#kept }))
  }

  protected override onValue(name: string, told: unknown): void {
    if (name === 'keptBytes' && Number.isSafeInteger(Number(told)))
      this.#kept = { ...this.#kept, bytes: Number(told) }
    // Seconds since the epoch, or a date in words.
    const until = typeof told === 'number' ? told * 1000 : Date.parse(String(told))
    if (name === 'keptUntil' && Number.isSafeInteger(until)) this.#kept = { ...this.#kept, until }
  }
}

/** An operation by which a file comes to its provider, or ends coming. */
export function fileOperation(...[name, answer, options]: Parameters<typeof objectOperation>): Operation {
  return {
    ...objectOperation(name, answer, options),
    readUsage: (head, context) => new KeptFileReader(head, context, answer),
  }
}

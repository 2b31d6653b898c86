import type { BodyKind, Operation, HeadFacts, UsageReaderContext } from './dialect.ts'
import type { Interest } from '../http/json-scan.ts'
import { ResponseReader } from './response-reader.ts'
import { factsFrom } from './request-facts.ts'
import type { ResponseMeasure } from './measure.ts'
import type { ObjectKind, NamedObject } from '../money/usage.ts'
import { object, value } from './interest.ts'
import { names } from './named-objects.ts'

/**
 * Reads the response to files added to a store. No provider reports what it bills for them: their size determines it.
 */
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
 * An operation that adds files to a store, charged by their bytes.
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

/** A free operation without usage: no hold, no charge. */
export function freeOperation(
  name: string,
  options: Partial<Omit<Operation, 'name' | 'isFree' | 'mainMeter'>> = {},
): Operation {
  const body: BodyKind = options.body ?? 'none'
  return { modelIn: 'none', ...options, name, body, isFree: true, mainMeter: 'requests' }
}

/** An operation that is charged; a model without a price for its main meter is refused. */
export function paidOperation(
  name: string,
  mainMeter: Operation['mainMeter'],
  options: Partial<Omit<Operation, 'name' | 'isFree' | 'mainMeter'>>,
): Operation {
  return { body: 'json', modelIn: 'body', ...options, name, isFree: false, mainMeter }
}

/** OpenAI, and the sandbox, which behaves like it here. */
export const atOpenai: ReadonlySet<string> = new Set(['openai', 'sandbox'])

/** An operation that is refused with 501 and this reason. */
export function unsupportedOperation(name: string, reason: string): Operation {
  return { name, body: 'opaque', modelIn: 'none', isFree: true, mainMeter: 'requests', unsupported: reason }
}

/**
 * A free operation whose response names objects, so that they are recorded.
 * @param response where the names are, by `names`
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
 * How clients and the gateway itself poll the jobs of one kind. Readers report what they saw in `UsageReading.job`;
 * their context has the facts of the job's submission (units, variant, model).
 */
export interface JobKind {
  readonly kind: ObjectKind
  /** The operation whose `readUsage` reads the response at `path`. */
  readonly retrieval: Operation
  /** The operation whose `readUsage` reads the document that `JobSighting.resultsPath` names. */
  readonly results?: Operation
  /** The job's path below the dialect's base URL, at a provider of this kind. */
  path(id: string, providerKind: string): string
  /** After this time a job counts as ended, whatever its last known state. */
  readonly durationMsMax: number
  /** For a rent: the job is charged again after each such period, for as long as it exists. */
  readonly rentMs?: number
}

/** The operations on a job by its id. */
interface JobOperations {
  /** Returns its state and its result. */
  readonly stored: Operation
  /** The same, for the request that cancels it. */
  readonly cancelled: Operation
  /** Deletes it. */
  readonly deleted: Operation
}

/**
 * The operations on a job by its id. They are free: the submission pays.
 * @param of the kind in the names of the operations: `batch`
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

/** A file in a response of any provider: its name, its size, and when it expires. */
export function keptFile(member: 'id' | 'name'): Interest {
  return object({ [member]: names('file'), ...told })
}

/** Reads the response to an upload. */
class KeptFileReader extends ResponseReader {
  #kept: NonNullable<NamedObject['kept']> = {}

  override takeObjects(): readonly NamedObject[] {
    return super.takeObjects().map(named => ({ ...named, kept: this.#kept }))
  }

  protected override onValue(name: string, told: unknown): void {
    if (name === 'keptBytes' && Number.isSafeInteger(Number(told)))
      this.#kept = { ...this.#kept, bytes: Number(told) }
    // Seconds since the epoch, or a date as text.
    const until = typeof told === 'number' ? told * 1000 : Date.parse(String(told))
    if (name === 'keptUntil' && Number.isSafeInteger(until)) this.#kept = { ...this.#kept, until }
  }
}

/** An operation that uploads a file, or completes an upload. */
export function fileOperation(...[name, answer, options]: Parameters<typeof objectOperation>): Operation {
  return {
    ...objectOperation(name, answer, options),
    readUsage: (head, context) => new KeptFileReader(head, context, answer),
  }
}

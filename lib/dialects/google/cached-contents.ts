import { GatewayError } from '../../pipeline/errors.ts'
import type { Finding, ScanResult } from '../../http/json-scan.ts'
import { ResponseReader } from '../response-reader.ts'
import type { HeadFacts, BodyLength, Operation, RequestFacts, UsageReaderContext } from '../dialect.ts'
import { freeOperation } from '../operation-kinds.ts'
import { object, value } from '../interest.ts'
import type { ResponseMeasure } from '../measure.ts'
import { searched } from '../naming-members.ts'
import { findField, textOf } from '../read-field.ts'
import { factsFrom } from '../request-facts.ts'
import { route, type RouteRow } from '../route-table.ts'
import { content, contents, tools } from './generate-content.ts'
import { googleList } from '../object-list.ts'

const hourMs = 3_600_000
/** Google's default for requests without a term, in hours. */
const ttlUnlessSaid = 1
const modelPrefix = 'models/'

const term = { ttl: value('ttl'), expiretime: value('expireTime') }
const request = searched({ ...term, model: value('model'), contents, systeminstruction: content, tools })

const response = object({
  name: value('name'),
  model: value('model'),
  createtime: value('createTime'),
  expiretime: value('expireTime'),
  usagemetadata: value('usage'),
  error: value('error'),
})

/**
 * Reads what was put into a cache, and until when: the tokens are charged once, for the hours of storage. The provider
 * reports the end of the term, so what was paid before is known by the end of the last term.
 */
class CachedContentReader extends ResponseReader {
  readonly #isNew: boolean
  readonly #found = new Map<string, string>()
  #tokens = 0

  constructor(head: HeadFacts, context: UsageReaderContext, isNew: boolean) {
    super(head, context, response)
    this.#isNew = isNew
    // The content never changes, and a response about its term need not repeat its tokens.
    this.#tokens = context.facts.cacheTerm?.tokens ?? 0
  }

  protected override onValue(name: string, value: unknown): void {
    if (typeof value !== 'string') return
    this.#found.set(name, value)
    if (name === 'name' && this.#isNew) this.nameObject('cachedContent', value)
    this.#nameTerm()
  }

  protected override onUsage(_name: string, value: object): void {
    const { totalTokenCount } = value as { readonly totalTokenCount?: unknown }
    if (typeof totalTokenCount === 'number') this.#tokens = totalTokenCount
    this.#nameTerm()
  }

  protected override measure(): ResponseMeasure {
    const isKnown =
      this.usage() !== undefined || (this.context.facts.cacheTerm !== undefined && !this.hasError)
    if (!isKnown) return { lines: [], details: {} }
    const hours = Math.max(0, this.#time('expireTime') - this.#paidUntil) / hourMs
    const cacheStorage = Number((this.#tokens * (Number.isFinite(hours) ? hours : 0)).toFixed(6))
    const meters = this.#isNew ? { input: this.#tokens, cacheStorage } : { cacheStorage }
    // A shortened term costs nothing more.
    this.isFree = !this.#isNew
    return { lines: [{ meters }], details: {} }
  }

  get #paidUntil(): number {
    return this.#isNew ? this.#time('createTime') : (this.context.facts.cacheTerm?.paidUntil ?? Number.NaN)
  }

  #time(name: string): number {
    return Date.parse(this.#found.get(name) ?? '')
  }

  /** Names the term as soon as all its values are known. */
  #nameTerm(): void {
    const name = this.#found.get('name')
    const paidUntil = Math.max(this.#time('expireTime'), this.#isNew ? 0 : this.#paidUntil)
    const { cacheTerm } = this.context.facts
    if (name === undefined || this.#tokens === 0 || !Number.isFinite(paidUntil)) return
    const model = cacheTerm?.model ?? this.context.facts.model ?? ''
    const index = cacheTerm === undefined ? 0 : cacheTerm.index + 1
    const facts = { cacheTerm: { index, model, tokens: this.#tokens, paidUntil } }
    this.nameObject('cacheTerm', `${name}#${index}`, facts)
  }
}

const charged = { body: 'json', isFree: false, mainMeter: 'input', namesObjects: true } as const

/** `POST /cachedContents` */
const createCache: Operation = {
  ...charged,
  name: 'cached-content',
  modelIn: 'body',
  interest: request,
  factsFromJson: createFacts,
  readUsage: (head, context) => new CachedContentReader(head, context, true),
}

/** `PATCH /cachedContents/{id}`: changes the term. */
const updateCache: Operation = {
  ...charged,
  name: 'cached-content-update',
  modelIn: 'cache',
  interest: object(term),
  factsFromJson: (scan, body) => ({
    ...factsFrom(scan, body),
    ...keptUntil(scan),
    textBytes: 0,
    outputTokensCap: 0,
    units: { cacheStorage: hoursOf(scan) },
  }),
  readUsage: (head, context) => new CachedContentReader(head, context, false),
}

const storedCache = freeOperation('stored-cached-content')
const deletedCache = freeOperation('deleted-cached-content', { isDeletion: true })
const cacheList = googleList('cached-content-list', {
  kind: 'cachedContent',
  member: 'cachedContents',
  retrieval: storedCache,
  path: name => `/${name}`,
  limit: { usual: 50, max: 1000 },
})

const path = '/cachedContents/{id}'
const named = { object: 'cachedContent', idFrom: 'cachedContents' } as const

/** Cached contents, below `/v1beta`. */
export const googleCacheRows: readonly RouteRow[] = [
  route('POST', '/cachedContents', createCache),
  route('GET', '/cachedContents', cacheList),
  route('GET', path, storedCache, named),
  route('DELETE', path, deletedCache, named),
  route('PATCH', path, updateCache, named),
]

/** The text is stored without a response: there is no output. The model's name has the prefix of its collection. */
function createFacts(scan: ScanResult, body: BodyLength): RequestFacts {
  const facts = factsFrom(scan, body)
  const keptHours = hoursOf(scan)
  const units = { cacheStorage: Math.ceil(facts.textBytes / 3) * keptHours }
  const own = { ...facts, ...keptUntil(scan), outputTokensCap: 0, units, keptHours }
  return facts.model?.startsWith(modelPrefix) === true
    ? { ...own, model: facts.model.slice(modelPrefix.length), modelPrefix }
    : own
}

/**
 * `"300s"`, with or without a fraction; one hour where a moment is named, from which other code counts from now.
 * @throws GatewayError body_invalid for a term whose cost cannot be computed
 */
function hoursOf(scan: ScanResult): number {
  const field = findField(scan, 'ttl')
  if (field === undefined) return momentIn(scan) === undefined ? ttlUnlessSaid : 1
  const ttl = /^(\d{1,12}(?:\.\d{1,9})?)s$/.exec(textOf(field))?.[1]
  if (ttl === undefined) throw unreadable(field, 'a number of seconds such as "3600s"')
  return (Number(ttl) * 1000) / hourMs
}

function keptUntil(scan: ScanResult): Pick<RequestFacts, 'keptUntil'> {
  const moment = findField(scan, 'ttl') === undefined ? momentIn(scan) : undefined
  return moment === undefined ? {} : { keptUntil: moment }
}

function momentIn(scan: ScanResult): number | undefined {
  const field = findField(scan, 'expireTime')
  if (field === undefined) return undefined
  const moment = Date.parse(textOf(field))
  if (Number.isNaN(moment)) throw unreadable(field, 'a moment such as "2030-01-01T00:00:00Z"')
  return moment
}

function unreadable({ path }: Finding, expected: string): GatewayError {
  return new GatewayError('body_invalid', `${path} must be ${expected}.`, { param: path })
}

import { GatewayError } from '../pipeline/errors.ts'
import type { ObjectKind } from '../money/usage.ts'
import type { Operation } from './dialect.ts'
import { freeOperation } from './operation-kinds.ts'

/** A page of a list, as it was asked for. */
export interface PageRequest {
  /** Objects on a page; one at least. */
  readonly limit: number
  /** How many of the account's objects stand on the pages before, where pages are asked for by their number. */
  readonly skip?: number
  readonly order: 'newest-first' | 'oldest-first'
  /** The object behind which the page begins, or before which it ends. */
  readonly cursor?: { readonly id: string; readonly side: 'after' | 'before' }
  /** Only these objects, in place of a page. */
  readonly ids?: readonly string[]
  /** Whether an object, as its provider shows it, is in the list. */
  readonly filter?: (object: Readonly<Record<string, unknown>>) => boolean
}

export interface ListPage {
  readonly objects: readonly {
    readonly id: string
    /** As its provider sent it: a JSON object. */
    readonly bytes: Buffer
  }[]
  /** How many stand on the pages before, where pages are asked for by their number. */
  readonly skipped: number
  /** More objects follow, or come before where the page was asked for by what is behind it. */
  readonly hasMore: boolean
}

/** How a dialect lists the objects of a kind, and where its provider shows each. */
export interface ObjectList {
  readonly kind: ObjectKind
  /** Whose reader reads an object: what it names beside itself becomes the account's. */
  readonly retrieval: Operation
  /** Where the object is, below the base URL. */
  path(id: string): string
  /** For how long a provider keeps such an object, where that is known. */
  readonly keptMsMax?: number
  /** @throws GatewayError request_invalid */
  readPage(query: URLSearchParams): PageRequest
  /** The body of the response, without copying the objects. */
  writePage(page: ListPage): readonly Buffer[]
}

/** Beyond this a page takes too long to put together: each object is fetched by itself. */
const pageMax = 100

/** An operation that lists an account's own objects. */
export function listOperation(name: string, list: ObjectList): Operation {
  return { ...freeOperation(name), list }
}

/**
 * The value of a query parameter by any of its names; undefined where it is absent or empty.
 * @throws GatewayError request_invalid when it is there twice
 */
export function readParameter(query: URLSearchParams, ...names: readonly string[]): string | undefined {
  const values = names.flatMap(name => query.getAll(name))
  if (values.length > 1) throw invalid(String(names[0]), 'is there twice; send it once')
  return values[0] === '' ? undefined : values[0]
}

/**
 * How many objects are on a page: as many as was asked for, or fewer.
 * @throws GatewayError request_invalid
 */
export function readLimit(
  query: URLSearchParams,
  names: readonly string[],
  { usual, max }: { readonly usual: number; readonly max: number },
): number {
  const text = readParameter(query, ...names)
  const limit = text === undefined ? usual : Number(text)
  if (!/^\d+$/.test(text ?? '1') || limit > max)
    throw invalid(String(names[0]), `is to be a number from 1 to ${max}, not ${JSON.stringify(text)}`)
  // Google and OpenAI take 0 for what is usual.
  return Math.min(limit === 0 ? usual : limit, pageMax)
}

/** The refusal of a query parameter. */
export function invalid(param: string, what: string): GatewayError {
  return new GatewayError('request_invalid', `The query parameter ${param} ${what}.`, { param })
}

const comma = Buffer.from(',')

/** The objects with commas between them, between what comes before and after. */
export function joinObjects(before: string, objects: ListPage['objects'], after: string): readonly Buffer[] {
  const parts = objects.flatMap(({ bytes }, index) => (index === 0 ? [bytes] : [comma, bytes]))
  return [Buffer.from(before), ...parts, Buffer.from(after)]
}

import type { Config, ProviderConfig } from '../config/config.ts'
import type { DialectName } from '../dialects/dialect.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { Ledger, ProviderObject } from '../ledger/ledger.ts'
import { objectName, type NamedObject } from '../money/usage.ts'
import { withCredential, type ChosenProvider } from './choose-provider.ts'
import { setImmediate } from 'node:timers/promises'
import { knownProvider } from '../providers/known-providers.ts'

interface OwnerContext {
  readonly config: Config
  readonly ledger: Ledger
}

/** The provider of the objects that a request names, and their stored facts. */
export interface ObjectOwner {
  /** Undefined if the request names none, or isolation is off and none is known. */
  readonly chosen: ChosenProvider | undefined
  readonly objects: readonly ProviderObject[]
}

/** Google's own host, beside those in the config: files have this address even behind a proxy. */
const googleHost = /^(?:[a-z0-9-]+-)?generativelanguage\.(?:[a-z0-9-]+\.)*googleapis\.com$/

/** Queries to send in one turn of the event loop. */
const atOnce = 50

/**
 * Finds the provider and credential of the objects to which a request refers. Only the account that made an object may
 * name it, and the request goes to the provider and credential that made it.
 * @param more.given objects that the account may use although it did not make them
 * @param more.inPath the one of them that the path names
 * @throws GatewayError object_not_found for another account's object and for an unknown one alike, and
 * previous_response_not_found if a body continues from it; request_invalid if two of them are in different places
 */
export async function ownerOfObjects(
  context: OwnerContext,
  accountId: string | undefined,
  dialectName: DialectName,
  referred: readonly NamedObject[],
  providerName: string | undefined,
  { given = [], inPath }: { readonly given?: readonly ProviderObject[]; readonly inPath?: NamedObject } = {},
): Promise<ObjectOwner> {
  const providers = providersFor(context.config, dialectName, providerName)
  const own = distinct(referred.filter(({ host }) => host === undefined || isOwnHost(host, providers)))
  // All objects are looked up at every provider, so that the time does not reveal the owner.
  const isStrict = context.config.isolation === 'strict'
  const found = await inGroups(own, async named => {
    const one = given.find(({ kind, id }) => kind === named.kind && id === named.id)
    if (one !== undefined) return one
    const known = await findEverywhere(context.ledger, named, providers)
    const mine = known.find(object => object.accountId === accountId) ?? (isStrict ? undefined : known[0])
    if (named.isLabel !== true) return mine
    if (mine === undefined && known.length > 0) throw objectNotFound(named)
    return undefined
  })
  let chosen: ChosenProvider | undefined
  for (const [index, object] of found.entries()) {
    if (object === undefined) {
      const named = own[index] as NamedObject
      if (isStrict && named.isLabel !== true) throw named === inPath ? objectNotFound(named) : notFound(named)
      continue
    }
    const next = withCredential(context.config.providers.get(object.provider), dialectName, object.credential)
    if (next === undefined) {
      throw new GatewayError(
        'credentials_exhausted',
        `The credential that made ${object.id} is no longer configured.`,
      )
    }
    if (chosen !== undefined && !isSame(chosen, next)) throw apart(object)
    chosen = next
  }
  return { chosen, objects: found.filter(object => object !== undefined) }
}

/**
 * An object of the account's own, at any provider.
 * @throws GatewayError object_not_found for another account's object and for an unknown one alike
 */
export async function ownObject(
  context: OwnerContext,
  accountId: string | undefined,
  {
    dialectName,
    providerName,
  }: { readonly dialectName: DialectName; readonly providerName: string | undefined },
  named: NamedObject,
): Promise<ProviderObject> {
  const known = await findEverywhere(
    context.ledger,
    named,
    providersFor(context.config, dialectName, providerName),
  )
  const own = known.find(object => object.accountId === accountId)
  if (own === undefined) throw objectNotFound(named)
  return own
}

/** Whether providers of a kind read files that texts name. */
export function readsFilesInText(providerKind: string): boolean {
  return knownProvider(providerKind).readsFilesInText === true
}

/** The files named in texts that one of these providers reads. */
export function filesRead(
  providers: readonly ChosenProvider[],
  filesInText: readonly NamedObject[] = [],
): readonly NamedObject[] {
  return providers.some(({ provider }) => readsFilesInText(provider.kind)) ? filesInText : []
}

/** Each name once, at its first place; as a label only if it is nothing else. */
function distinct(named: readonly NamedObject[]): readonly NamedObject[] {
  if (named.length < 2) return named
  const first = new Map<string, NamedObject>()
  for (const one of named) {
    const name = objectName(one)
    const before = first.get(name)
    if (before === undefined || (before.isLabel === true && one.isLabel !== true)) first.set(name, one)
  }
  return [...first.values()]
}

/**
 * The key that began an upload, for requests that continue it by its address alone; undefined for an unknown upload.
 */
export async function keyOfUpload(
  context: OwnerContext,
  dialectName: DialectName,
  upload: NamedObject,
  providerName: string | undefined,
): Promise<string | undefined> {
  const providers = providersFor(context.config, dialectName, providerName)
  const known = await findEverywhere(context.ledger, upload, providers)
  return known.find(({ facts }) => facts?.keyId !== undefined)?.facts?.keyId
}

/** OpenAI's error for an unknown previous response, after which clients send the whole conversation. */
export function responseNotFound(id: string): GatewayError {
  return new GatewayError('previous_response_not_found', `Previous response with id "${id}" not found.`, {
    param: 'previous_response_id',
  })
}

/** A batch has a line for each object that it names. */
function notFound(named: NamedObject): GatewayError {
  return named.kind === 'response' && named.at === undefined
    ? responseNotFound(named.id)
    : objectNotFound(named)
}

/** The error for another account's object and for an unknown one, which are indistinguishable. */
export function objectNotFound({ kind, id, at }: NamedObject): GatewayError {
  const place = at === undefined ? '' : `${at}: `
  const words = kind.replaceAll(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`)
  return new GatewayError('object_not_found', `${place}No ${words} with the id "${id}" was found.`)
}

function providersFor(
  config: Config,
  dialectName: DialectName,
  providerName: string | undefined,
): readonly ProviderConfig[] {
  return [...config.providers.values()].filter(
    provider =>
      provider.dialects[dialectName] !== undefined &&
      (providerName === undefined || provider.name === providerName),
  )
}

function isOwnHost(host: string, providers: readonly ProviderConfig[]): boolean {
  return (
    googleHost.test(host) ||
    providers.some(({ dialects }) =>
      Object.values(dialects).some(dialect => dialect?.baseUrl.hostname === host),
    )
  )
}

/** Two providers may have assigned the same name. */
async function findEverywhere(
  ledger: Ledger,
  { kind, id }: NamedObject,
  providers: readonly ProviderConfig[],
): Promise<readonly ProviderObject[]> {
  const found = await Promise.all(providers.map(({ name }) => ledger.findObject(name, kind, id)))
  return found.filter(object => object !== undefined)
}

function isSame(one: ChosenProvider, other: ChosenProvider): boolean {
  return one.provider.name === other.provider.name && one.credential.name === other.credential.name
}

function apart(object: ProviderObject): GatewayError {
  return new GatewayError(
    'request_invalid',
    `The request names objects that were made in different places, and ${object.id} is not where the others are. Upload them again, one after the other.`,
  )
}

/** Looks up each, in order: requests with thousands of names do not block others. */
export async function inGroups<Named, Result>(
  named: readonly Named[],
  ask: (one: Named) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = []
  for (let start = 0; start < named.length; start += atOnce) {
    if (start > 0) await setImmediate()
    results.push(...(await Promise.all(named.slice(start, start + atOnce).map(ask))))
  }
  return results
}

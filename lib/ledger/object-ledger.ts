import type { ObjectFacts, ObjectKind } from '../money/usage.ts'

/** Which object of a provider. */
export interface ProviderObjectName {
  readonly provider: string
  readonly kind: ObjectKind
  readonly id: string
}

/** Something that a provider keeps, and whose it is. */
export interface ProviderObject extends ProviderObjectName {
  readonly accountId: string
  /** The credential's name in the config, never its value. */
  readonly credential: string
  readonly exchangeId: string
  /** The wire format of the request that made it; absent for objects that were recorded by an earlier release. */
  readonly dialect?: string
  /** As they were when the object was recorded first. */
  readonly facts?: ObjectFacts
}

/** An object in a list. */
export interface ListedObject extends ProviderObject {
  /** Milliseconds since the epoch: when it was recorded. */
  readonly createdAt: number
}

/** Which of an account's objects are wanted. */
export interface ObjectQuery {
  readonly accountId: string
  readonly kind: ObjectKind
  readonly order: 'newest-first' | 'oldest-first'
  /** Only those that follow this one in that order. */
  readonly after?: Pick<ProviderObjectName, 'provider' | 'id'>
  readonly limit: number
}

/** What providers keep, and for whom. */
export interface ObjectLedger {
  /** Resolves when the object is on disk. The same object again is no error and changes nothing. */
  recordObject(object: ProviderObject): Promise<void>
  findObject(provider: string, kind: ObjectKind, id: string): Promise<ProviderObject | undefined>
  /** Objects of one of the `listedKinds`, less those that were unlisted. */
  listObjects(query: ObjectQuery): Promise<readonly ListedObject[]>
  /** Leaves an object out of all lists, since its provider has it no more; whose it was stays known. */
  unlistObject(name: ProviderObjectName): Promise<void>
}

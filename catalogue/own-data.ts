import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import type { ListPrice } from '../lib/prices/list-price.ts'

type Decimals = Readonly<Record<string, string>>

/** Common properties of a family of models; null removes a value of an earlier entry. */
export interface FamilyFacts {
  readonly contextTokensMax?: number
  readonly outputTokensMax?: number | null
  readonly input?: readonly string[]
  readonly output?: readonly string[]
  readonly capabilities?: readonly string[]
  readonly usdPerMillion?: Decimals | null
  readonly usdPerUnit?: Decimals | null
  readonly factors?: Decimals | null
  /** For models without such rates in the source. */
  readonly above?: ListPrice['above']
}

/** A model that the source lacks: with its own prices, or with those of another. */
interface OwnModel extends Omit<ListPrice, 'from'> {
  readonly name: string
  readonly like?: string
  /** Later prices, each from a day on. */
  readonly later?: readonly ListPrice[]
}

/** How the models of a provider are read from the source. */
export interface OwnProvider {
  readonly source?: string
  readonly dated?: readonly string[]
  readonly leaveOut?: readonly string[]
  /** Its models are named `provider/model`, because other providers have models of the same names. */
  readonly isPrefixed?: boolean
  /** Only models whose window the source has. */
  readonly needsContext?: boolean
}

/** `own.yaml` as written. */
export interface OwnData {
  readonly providers: Readonly<Record<string, OwnProvider>>
  readonly families: Readonly<
    Record<string, readonly (FamilyFacts & { readonly names: readonly string[] })[]>
  >
  readonly names: Readonly<Record<string, readonly string[]>>
  readonly windows: Readonly<Record<string, Readonly<Record<string, number>>>>
  readonly models: Readonly<Record<string, readonly OwnModel[]>>
}

/** The data that the catalogue's source lacks. */
export function readOwnData(): OwnData {
  return parse(readFileSync(new URL('own.yaml', import.meta.url), 'utf8')) as OwnData
}

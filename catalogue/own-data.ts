import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import type { ListPrice } from '../lib/prices/list-price.ts'

type Decimals = Readonly<Record<string, string>>

/** What models of a family have in common; null takes away what an earlier entry said. */
export interface FamilyFacts {
  readonly contextTokensMax?: number
  readonly outputTokensMax?: number | null
  readonly input?: readonly string[]
  readonly output?: readonly string[]
  readonly capabilities?: readonly string[]
  readonly usdPerMillion?: Decimals | null
  readonly usdPerUnit?: Decimals | null
  readonly factors?: Decimals | null
  /** Where the source knows none. */
  readonly above?: ListPrice['above']
}

/** A model that the source lacks: with prices of its own, or those of another. */
interface OwnModel extends Omit<ListPrice, 'from'> {
  readonly name: string
  readonly like?: string
  /** What it costs from a day on. */
  readonly later?: readonly ListPrice[]
}

/** How the models of a provider are taken from the source. */
export interface OwnProvider {
  readonly source?: string
  readonly dated?: readonly string[]
  readonly leaveOut?: readonly string[]
  /** Its models stand under `provider/model`, as others have models of the same names. */
  readonly isPrefixed?: boolean
  /** Only those of which the source knows the window. */
  readonly needsContext?: boolean
}

/** `own.yaml` as it is written. */
export interface OwnData {
  readonly providers: Readonly<Record<string, OwnProvider>>
  readonly families: Readonly<
    Record<string, readonly (FamilyFacts & { readonly names: readonly string[] })[]>
  >
  readonly names: Readonly<Record<string, readonly string[]>>
  readonly windows: Readonly<Record<string, Readonly<Record<string, number>>>>
  readonly models: Readonly<Record<string, readonly OwnModel[]>>
}

/** What the catalogue's source does not have. */
export function readOwnData(): OwnData {
  return parse(readFileSync(new URL('own.yaml', import.meta.url), 'utf8')) as OwnData
}

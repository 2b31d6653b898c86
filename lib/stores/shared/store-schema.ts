import { StoreError } from './store-error.ts'

/** Statements that are taken together or not at all, and the schema's version after them. */
export interface SchemaStep {
  readonly version: number
  readonly sql: string
}

/** The tables of one kind of database, and how older ones are brought up to date. */
export interface StoreSchema {
  /** Everything that a new store begins with. It stays as it is: what comes later are steps. */
  readonly baseline: SchemaStep
  /** By version; one that stands before the baseline's own, or at it, is for stores that were made without it. */
  readonly steps: readonly SchemaStep[]
}

/** The version that a program brings every store to. */
export function newestVersion({ baseline, steps }: StoreSchema): number {
  return Math.max(baseline.version, steps.at(-1)?.version ?? 0)
}

/**
 * What a store has yet to take.
 * @param version of the store; 0 where there are no tables yet
 * @param store as messages name it
 * @throws StoreError when it is of a newer program, or of one too old
 */
export function missingSteps(schema: StoreSchema, version: number, store: string): readonly SchemaStep[] {
  const { baseline, steps } = schema
  const newest = newestVersion(schema)
  if (version > newest) {
    throw new StoreError(
      `${store} has schema version ${version} and this program knows versions up to ${newest}: ` +
        'run the newer release of the gateway, or restore an older backup',
    )
  }
  if (version === 0) return [baseline, ...steps.filter(step => step.version > baseline.version)]
  const oldest = (steps[0] ?? baseline).version - 1
  if (version < oldest) {
    throw new StoreError(
      `${store} has schema version ${version}, and this program brings stores up to date from version ${oldest}: ` +
        `start a build that knows version ${oldest} once, then this one`,
    )
  }
  return steps.filter(step => step.version > version)
}

/** Columns of the first builds that nothing has read or written. */
export const withoutUnusedColumns = `
ALTER TABLE accounts DROP COLUMN parent_account_id;
ALTER TABLE accounts DROP COLUMN price_list;
`

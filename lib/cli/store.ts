import { dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import { answer, CommandError, countOf, type SharedOptions, type CliContext } from './command.ts'
import { readStore } from './with-store.ts'
import { openStoreSetting } from './open-config.ts'
import { readProblem } from '../platform/file-problem.ts'

/** `verify`: recomputes every charge and balance; exits with 1 when any differs. */
export function fillVerify(verify: Command, { stdout }: CliContext): void {
  verify.action(async (options: SharedOptions) => {
    const breaches = await readStore(options, reports => reports.verify())
    const isWhole = breaches.length === 0
    answer(
      stdout,
      options,
      { ok: isWhole, breaches },
      isWhole ? 'the ledger is in order\n' : breaches.map(breach => `${breach}\n`).join(''),
    )
    if (!isWhole)
      throw new CommandError(
        `the ledger is out of order in ${countOf(breaches.length, 'place')}: stop the gateway and look`,
      )
  })
}

/** `backup FILE`: a consistent copy of a SQLite store, also while the gateway runs. */
export function fillBackup(backup: Command, { stdout }: CliContext): void {
  backup.action(async (target: string, options: SharedOptions) => {
    const store = openStoreSetting(options)
    if (store.kind !== 'sqlite') {
      throw new CommandError(
        'a PostgreSQL store is backed up by its own tools: pg_dump URL > FILE, with the URL of store in the configuration',
      )
    }
    const { backupSqliteStore } = await import('../stores/sqlite/sqlite-backup.ts')
    const file = resolve(target)
    if (readProblem(dirname(file))?.isMissing === true)
      throw new CommandError(`there is no folder ${dirname(file)}`)
    await backupSqliteStore(store.file, file)
    answer(stdout, options, { file }, `the store was copied to ${file}\n`)
  })
}

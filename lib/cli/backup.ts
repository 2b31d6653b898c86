import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import { CommandError } from './context.ts'
import type { CliContext } from './context.ts'
import { openStoreSetting } from './open-config.ts'

/** `backup FILE`: a consistent copy of a SQLite store, also while it runs. */
export function addBackupCommand(program: Command, { stdout }: CliContext): void {
  addCommand(program, 'backup <file>', 'write a whole copy of the store, also while the gateway runs').action(
    async (target: string, options: SharedOptions) => {
      const store = openStoreSetting(options)
      if (store.kind !== 'sqlite') {
        throw new CommandError(
          'a PostgreSQL store is backed up by its own tools: pg_dump "$STORE_URL" > FILE',
        )
      }
      const { backupSqliteStore } = await import('../stores/sqlite/sqlite-backup.ts')
      const file = resolve(target)
      if (!existsSync(dirname(file))) throw new CommandError(`there is no folder ${dirname(file)}`)
      await backupSqliteStore(store.file, file)
      stdout.write(
        options.json === true ? `${JSON.stringify({ file })}\n` : `the store was copied to ${file}\n`,
      )
    },
  )
}

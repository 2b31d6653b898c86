import { resolve } from 'node:path'
import type { Command } from 'commander'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import type { CliContext } from './context.ts'
import { readStore } from './read-store.ts'

export function addBackupCommand(program: Command, { stdout }: CliContext): void {
  addCommand(program, 'backup <file>', 'write a whole copy of the store, also while the gateway runs').action(
    async (target: string, options: SharedOptions) => {
      const file = resolve(target)
      // The copy holds what the store holds, so nobody else may read it either.
      const mask = process.umask(0o077)
      try {
        await readStore(options, reader => reader.backup(file))
      } finally {
        process.umask(mask)
      }
      stdout.write(
        options.json === true ? `${JSON.stringify({ file })}\n` : `the store was copied to ${file}\n`,
      )
    },
  )
}

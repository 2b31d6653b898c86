import type { Command } from 'commander'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import { CommandError } from './context.ts'
import type { CliContext } from './context.ts'
import { readStore } from './read-store.ts'

/** `verify`: works every charge and balance out again; fails on the first store that disagrees. */
export function addVerifyCommand(program: Command, { stdout }: CliContext): void {
  addCommand(program, 'verify', "check the ledger's invariants, and work every charge out again").action(
    async (options: SharedOptions) => {
      const breaches = await readStore(options, reports => reports.verify())
      const isWhole = breaches.length === 0
      if (options.json === true) stdout.write(`${JSON.stringify({ ok: isWhole, breaches })}\n`)
      else stdout.write(isWhole ? 'the ledger is in order\n' : breaches.map(breach => `${breach}\n`).join(''))
      if (!isWhole)
        throw new CommandError(`the ledger has ${breaches.length} breaches: stop the gateway and look`)
    },
  )
}

import { existsSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import { commandName, shippedConfig } from '../config/environment.ts'
import { makeFolder } from '../platform/make-folder.ts'
import { CommandError, type CliContext } from './command.ts'
import { fileProblem } from '../platform/file-problem.ts'

/** `init`: writes a configuration that includes the shipped one, with the settings that are changed most often. */
export function fillInit(init: Command, { stdout }: CliContext): void {
  init.action((file = 'gateway.yaml') => {
    const path = resolve(file)
    if (existsSync(path)) throw new CommandError(`${path} is there already, and is not overwritten`)
    try {
      makeFolder(dirname(path))
      writeFileSync(path, configText(shippedConfig()))
    } catch (error) {
      throw new CommandError(`${path} cannot be written: ${fileProblem(error)}`)
    }
    const command = commandName()
    stdout.write(
      `wrote ${path}\ncheck it:  ${command} check --config ${file}\nrun it:    ${command} serve --config ${file}\n`,
    )
  })
}

function configText(shipped: string): string {
  return `# yaml-language-server: $schema=${resolve(dirname(shipped), 'gateway.schema.json')}
#
# Your settings. What is not said here is as in the shipped files: ${shipped}
# and those that it includes, where each setting is explained. Check this file with: ${commandName()} check --config FILE

include:
  - ${JSON.stringify(shipped)}

# The money: one file, beside this one. Or postgres://... for several gateways.
store: sqlite:data/gateway.db

# How clients reach the gateway.
# publicUrl: https://gateway.example.org
# listen: { host: 127.0.0.1, port: 8080 }

# A provider is on when the variable of its key is set: OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY and so on.
# Another server that speaks a known format:
# providers:
#   local: { credentials: [], dialects: { openai: { baseUrl: http://127.0.0.1:8000/v1 } } }

# What models cost: their list prices in dollars, times the Central Bank's rate of the day with a margin (or a rate of
# your own: "92.50"), times a coefficient: "1.30" adds 30 percent. A model may have others; null takes one off sale.
# prices: { usdRub: { from: cbr, marginPercent: 2 }, coefficient: "1.30" }
# models:
#   gpt-5: { coefficient: "1.35" }
#   gpt-4: null
`
}

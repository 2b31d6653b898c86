import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ConfigError } from '../../../lib/config/config-error.ts'
import type { ConfigProblem } from '../../../lib/config/config-error.ts'
import { loadConfig, type LoadConfigOptions, type LoadedConfig } from '../../../lib/config/load-config.ts'
import { plugins } from '../../../plugins/index.ts'

/** Writes files into a folder and loads its gateway.yaml. */
export function loadFiles(
  folder: string,
  files: Readonly<Record<string, string>>,
  options: LoadConfigOptions = { env: {}, plugins },
): LoadedConfig {
  for (const [name, text] of Object.entries(files)) {
    const file = join(folder, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  return loadConfig(join(folder, 'gateway.yaml'), options)
}

/** The problems of the files; empty if they are valid. Rethrows every error but ConfigError. */
export function problemsOf(
  folder: string,
  files: Readonly<Record<string, string>>,
  options?: LoadConfigOptions,
): readonly ConfigProblem[] {
  try {
    loadFiles(folder, files, options)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

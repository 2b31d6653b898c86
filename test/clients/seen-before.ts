import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from './client.ts'
import type { Seen } from './client-tables.ts'

type Kept = Omit<Seen, 'client'> & { readonly packages: readonly string[] }

/** Keeps what was seen of a client, so that the tables can be written when the others were seen at other times. */
export function keepSeen(folder: string, { client, models, faults }: Seen): void {
  mkdirSync(join(folder, 'seen'), { recursive: true })
  const kept: Kept = { packages: client.packages, models, faults }
  writeFileSync(fileOf(folder, client), JSON.stringify(kept))
}

/** What was seen of this version of a client. */
export function seenBefore(folder: string, client: Client): Seen | undefined {
  const file = fileOf(folder, client)
  if (!existsSync(file)) return undefined
  const { packages, models, faults } = JSON.parse(readFileSync(file, 'utf8')) as Kept
  return packages.join() === client.packages.join() ? { client, models, faults } : undefined
}

function fileOf(folder: string, { name }: Client): string {
  return join(folder, 'seen', `${name}.json`)
}

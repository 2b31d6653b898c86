import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Config, Listen } from '../config/config.ts'

/** What an operator can do about an address that cannot be used, by the system's error code. */
const reasons: Readonly<Record<string, (setting: string) => string>> = {
  EADDRINUSE: setting => `is taken by another program; stop that one, or set ${setting}.port`,
  EACCES: setting => `needs rights that this user does not have; set ${setting}.port to 1024 or more`,
  EADDRNOTAVAIL: setting => `is no address of this machine; set ${setting}.host`,
}

/**
 * Checks that every address of a config can be listened on, before anything is created: otherwise a failed start would
 * leave a store with a demo account whose key was never shown.
 * @throws Error that names the setting
 */
export async function checkPorts(config: Config): Promise<void> {
  const { file, listen, admin, accountArea, operatorArea } = config
  const settings = {
    listen,
    'admin.listen': admin?.listen,
    'accountArea.listen': accountArea?.listen,
    'operatorArea.listen': operatorArea?.listen,
  }
  for (const [setting, address] of Object.entries(settings)) {
    if (address !== undefined && address.port !== 0) await checkPort(setting, address, file)
  }
}

async function checkPort(setting: string, { host, port }: Listen, file: string): Promise<void> {
  const server = createServer()
  try {
    server.listen(port, host)
    await once(server, 'listening')
  } catch (error) {
    const reason = reasons[String((error as NodeJS.ErrnoException).code)]
    if (reason === undefined) throw error
    throw new Error(`${setting}: ${host}:${port} ${reason(setting)} in ${file}`, { cause: error })
  }
  server.close()
  await once(server, 'close')
}

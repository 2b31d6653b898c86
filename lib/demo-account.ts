import type { Accounts } from './accounts/accounts.ts'
import type { Config } from './config/config.ts'

/** The demo account's money: 100 roubles. */
const balanceMicros = 100_000_000

/**
 * Whether the gateway was started to be tried: its store is new, and only the sandbox can answer.
 */
export function isFirstTry(config: Config, isNewStore: boolean): boolean {
  const served = [...config.providers.values()].filter(provider => !provider.isOff)
  return isNewStore && served.length > 0 && served.every(provider => provider.kind === 'sandbox')
}

/** Makes an account with money and a key for the sandbox's models. Answers the key, which is shown once. */
export async function createDemoAccount(accounts: Accounts): Promise<string> {
  const { id } = await accounts.createAccount({ email: 'demo@sandbox.invalid', name: 'Demo' })
  await accounts.credit({ accountId: id, amountMicros: balanceMicros, reason: 'demo balance' })
  const { key } = await accounts.createKey({ accountId: id, name: 'demo', models: ['sandbox*'] })
  return key
}

/** The command that tries the gateway, on one line. */
export function demoCommand(url: string, key: string): string {
  const body = JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }] })
  return `curl ${url}/v1/chat/completions -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${body}'`
}

import { randomBytes } from 'node:crypto'
import type { Accounts } from '../accounts/accounts.ts'
import type { UserRows } from '../accounts/user-rows.ts'
import type { Clock } from '../platform/clock.ts'
import { newId } from '../platform/new-id.ts'
import { commandName } from '../config/environment.ts'
import type { Config } from '../config/config.ts'

/** The demo account's balance: 100 roubles. */
const balanceMicros = 100_000_000

/** The addresses of a gateway on its first try, and the credentials for it. */
export interface Demo {
  readonly url: string
  readonly adminUrl: string | undefined
  readonly accountAreaUrl: string | undefined
  /** For the sandbox's models; shown only this once. */
  readonly key: string
  readonly email: string
  /** For the account area; absent where there is none. */
  readonly password: string | undefined
}

/** Whether the gateway was started to try it out: its store is new, and the sandbox is its only provider. */
export function isFirstTry(config: Config, isNewStore: boolean): boolean {
  const served = [...config.providers.values()].filter(provider => !provider.isOff)
  return isNewStore && served.length > 0 && served.every(provider => provider.kind === 'sandbox')
}

/** Creates an account with a balance, a key for the sandbox's models and, where there are pages, a user to sign in. */
export async function createDemoAccount(
  { accounts, users }: { readonly accounts: Accounts; readonly users: UserRows },
  clock: Clock,
  hasPages: boolean,
): Promise<Pick<Demo, 'key' | 'email' | 'password'>> {
  const email = 'demo@sandbox.invalid'
  const password = hasPages ? randomBytes(9).toString('base64url') : undefined
  const accountId =
    password === undefined
      ? (await accounts.createAccount({ email, name: 'Demo' })).id
      : await createDemoUser(users, clock, email, password)
  await accounts.credit({ accountId, amountMicros: balanceMicros, reason: 'demo balance' })
  const { key } = await accounts.createKey({ accountId, name: 'demo', models: ['sandbox*'] })
  return { key, email, password }
}

/** Creates a user whose email counts as confirmed, with an account; returns the account's id. */
async function createDemoUser(
  users: UserRows,
  clock: Clock,
  email: string,
  password: string,
): Promise<string> {
  const { hashPassword } = await import('../web/sign-in/password-hash.ts')
  const now = clock.now()
  const times = { created_at: now, updated_at: now }
  const userId = newId()
  await users.createUser({ id: userId, email, name: '', email_verified: 1, ...times }, [])
  await users.insert('user_passwords', {
    id: newId(),
    user_id: userId,
    account_id: userId,
    provider_id: 'credential',
    password: await hashPassword(password),
    ...times,
  })
  const [membership] = await users.memberships(userId)
  if (membership === undefined) throw new Error(`the user ${userId} was made without an account`)
  return membership.accountId
}

/** The text on the terminal at a first try. Lines that start with `curl` can be pasted as they are. */
export function demoScreen({ url, adminUrl, accountAreaUrl, key, email, password }: Demo): string {
  const message = { role: 'user', content: 'Hello' }
  const model = 'sandbox-chat'
  const curl = (path: string, header: string, body: object): string =>
    `curl ${url}${path} -H '${header}' -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`
  const bearer = `Authorization: Bearer ${key}`
  const lines = [
    '',
    `  API           ${url}   the base URL of SDKs: ${url}/v1 for OpenAI's, ${url} for Anthropic's and Google's`,
    ...(accountAreaUrl === undefined
      ? []
      : [`  Account area  ${accountAreaUrl}   sign in as ${email} with the password ${password}`]),
    ...(adminUrl === undefined ? [] : [`  Metrics       ${adminUrl}/metrics`]),
    `  Key           ${key}   100 roubles for the sandbox's models, which answer by themselves; shown this once`,
    '',
    `Try it in OpenAI's format,\n  ${curl('/v1/chat/completions', bearer, { model, messages: [message] })}`,
    `in Anthropic's,\n  ${curl('/v1/messages', `x-api-key: ${key}`, { model, max_tokens: 200, messages: [message] })}`,
    `and in Google's:\n  ${curl(`/v1beta/models/${model}:generateContent`, `x-goog-api-key: ${key}`, { contents: [{ parts: [{ text: 'Hello' }] }] })}`,
    '',
    "A provider's key switches it on: OPENAI_API_KEY=sk-... npm start (config/providers.yaml has them all).",
    `Read on: docs/clients.md (your tools), docs/operating.md (a server of your own), ${commandName()} init (a configuration of your own).`,
    '',
  ]
  return `${lines.join('\n')}\n`
}

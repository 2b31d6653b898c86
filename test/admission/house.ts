import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { loadConfig } from '../../lib/config/load-config.ts'
import { systemClock } from '../../lib/platform/clock.ts'
import type { ChargeReport } from '../../lib/ledger/reports.ts'
import { openReports } from '../../lib/stores/open-store.ts'
import { plugins } from '../../plugins/index.ts'
import { send } from '../fixtures/http-client.ts'
import {
  startTestGateway,
  until,
  type ConfigSections,
  type TestGateway,
  type TestGatewayOptions,
} from '../fixtures/test-gateway.ts'
import type { Attack } from './attacks.ts'
import { models, providersAt } from './prices.ts'

/** How many of a kind are sent at once; `npm run test:admission` makes it sixty. */
export const atOnce = Number(process.env['ADMISSION_AT_ONCE'] ?? 6)
/** Whether every row is run in every way; otherwise each row is run in one way, and some in each of the others. */
export const isWhole = process.env['ADMISSION_AT_ONCE'] !== undefined
/** No account may spend more than it has. */
export const strict = { riskRub: '0', riskOfPaid: '0' }
export const paidRub = 10
/** The most that the house may lose as shipped: 30 roubles, and the amount paid. */
export const riskRub = 30 + paidRub

/** An account of the tests with a key of its own. */
export interface Client {
  readonly accountId: string
  readonly key: string
}

/** A gateway in front of the providers of the table. */
export interface House extends TestGateway {
  newClient(rub: number, key?: { readonly budgetRub?: number }): Promise<Client>
  /** Sends a request; returns its status when its body has arrived. */
  ask(client: Client, request: Pick<Attack, 'path' | 'body'>, more?: readonly string[]): Promise<number>
  /** The most that a request costs, in roubles, as the gateway quotes it. */
  worstOf(client: Client, request: Pick<Attack, 'path' | 'body'>): Promise<number>
  chargesOf(client: Client): Promise<readonly ChargeReport[]>
  /** How much the charges of an account exceed its money, in roubles. */
  owedBy(client: Client): Promise<number>
}

/** @param hold as in the config: how much accounts are trusted with */
export async function startHouse(
  t: Test,
  origin: string,
  hold: ConfigSections,
  options: Partial<TestGatewayOptions> = {},
): Promise<House> {
  const gateway = await startTestGateway(t, {
    rub: 0,
    ...options,
    config: { providers: providersAt(origin), models, hold, isolation: 'off', ...options.config },
  })
  const { url, accounts } = gateway
  const post = (path: string, { key }: Client, body: object, more: readonly string[] = []) =>
    send(url + path, {
      headers: ['authorization', `Bearer ${key}`, 'content-type', 'application/json', ...more],
      body: JSON.stringify(body),
    })
  const { config } = loadConfig(gateway.configFile, { env: {}, plugins })
  const reports = await openReports(config.store, systemClock)
  t.teardown(() => reports.close())
  const chargesOf = async ({ accountId }: Client): Promise<readonly ChargeReport[]> => {
    await until(async () => (await reports.balance(accountId))?.heldMicros === 0)
    return Array.fromAsync(reports.charges(accountId))
  }
  return {
    ...gateway,
    async newClient(rub, { budgetRub } = {}) {
      const { id: accountId } = await accounts.createAccount({ email: `${randomUUID()}@example.org` })
      const amountMicros = Math.ceil(rub * 1_000_000)
      if (rub > 0) await accounts.credit({ accountId, amountMicros, reason: 'test' })
      const { key } = await accounts.createKey({
        accountId,
        ...(budgetRub !== undefined && { budgetMicros: budgetRub * 1_000_000 }),
      })
      return { accountId, key }
    },
    ask: async (client, { path, body }, more) => (await post(path, client, body, more)).status,
    async worstOf(client, { path, body }) {
      const { body: text } = await post(`/gateway/v1/quote?for=${encodeURIComponent(path)}`, client, body)
      return Number((JSON.parse(text.toString()) as { readonly worst?: string }).worst)
    },
    chargesOf,
    async owedBy(client) {
      return (await chargesOf(client)).reduce((sum, { overrun = '0' }) => sum + Number(overrun), 0)
    },
  }
}

/** Runs an attack several times at once; returns the statuses. */
export function rush(times: number, ask: (index: number) => Promise<number>): Promise<readonly number[]> {
  return Promise.all(Array.from({ length: times }, (_, index) => ask(index)))
}

import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { ChargeRequest } from '../../lib/ledger/ledger.ts'
import { buildPrice } from '../../lib/money/pricing.ts'
import { newId } from '../../lib/platform/new-id.ts'
import type { Store } from '../../lib/stores/store.ts'

const accountCount = 64

/** How many charges a store makes durable in a second. */
export interface ChargeRate {
  readonly clients: number
  readonly chargesPerSecond: number
  /** Milliseconds from the call of `charge` until the disk has it. */
  readonly lagP50Ms: number
  readonly lagP99Ms: number
}

interface Wishes {
  /** Opens a new, empty store in a folder. */
  readonly open: (folder: string) => Promise<Store>
  /** The parent of that folder. */
  readonly place: string
  readonly clients: number
  readonly seconds: number
}

const price = buildPrice({
  model: 'gpt-5',
  rubPerMillion: { input: '125', cachedInput: '12.5', output: '1000' },
})

/** The charge of an ordinary chat response. */
const charge: ChargeRequest = {
  provider: 'openai',
  model: 'gpt-5',
  dialect: 'openai',
  operation: 'chat',
  outcome: 'completed',
  usageSource: 'provider',
  lines: [{ usage: { meters: { input: 1200, cachedInput: 300, output: 450 } }, price }],
  rawUsage:
    '{"prompt_tokens":1500,"completion_tokens":450,"total_tokens":1950,"prompt_tokens_details":{"cached_tokens":300},"completion_tokens_details":{"reasoning_tokens":128}}',
  details: { reasoning: 128 },
  flags: [],
}

/**
 * Measures a new store, which is verified afterwards and removed.
 * @throws Error when the ledger is not in order
 */
export async function chargeRate({ open, place, clients, seconds }: Wishes): Promise<ChargeRate> {
  const folder = mkdtempSync(join(place, 'bench-ledger-'))
  const store = await open(folder)
  try {
    const measured = await run(store, clients, seconds)
    const breaches = await store.reports.verify()
    if (breaches.length > 0) throw new Error(breaches.join('; '))
    return measured
  } finally {
    await store.close()
    rmSync(folder, { recursive: true })
  }
}

async function openAccounts(store: Store): Promise<string[]> {
  return Promise.all(
    Array.from({ length: accountCount }, async (_, index) => {
      const { id } = await store.accounts.createAccount({ email: `client-${index}@example.org` })
      await store.accounts.credit({ accountId: id, amountMicros: 1e15, reason: 'benchmark' })
      return id
    }),
  )
}

/** As an exchange does: a hold, a wait until it is on disk, a charge, a wait again. */
async function run(store: Store, clients: number, seconds: number): Promise<ChargeRate> {
  const accounts = await openAccounts(store)
  const lags: number[] = []
  let deadline = performance.now() + 500
  const client = async (number: number): Promise<void> => {
    const accountId = accounts[number % accountCount] ?? ''
    while (performance.now() < deadline) {
      const request = {
        exchangeId: newId(),
        sequence: 0,
        accountId,
        keyId: 'key',
        likelyMicros: 900_000,
        worstMicros: 900_000,
      }
      const hold = await store.ledger.placeHold(request)
      if (!hold.isDurable) await hold.durable
      const began = performance.now()
      await store.ledger.charge(hold, charge)
      lags.push(performance.now() - began)
    }
  }
  const all = async (): Promise<void> => {
    await Promise.all(Array.from({ length: clients }, (_, number) => client(number)))
  }
  // The first round is for the compiler.
  await all()
  lags.length = 0
  const began = performance.now()
  deadline = began + seconds * 1000
  await all()
  const elapsedSeconds = (performance.now() - began) / 1000
  const chargesPerSecond = Math.round(lags.length / elapsedSeconds)
  lags.sort((left, right) => left - right)
  const lagAt = (share: number): number => lags[Math.floor(lags.length * share)] ?? 0
  return { clients, chargesPerSecond, lagP50Ms: lagAt(0.5), lagP99Ms: lagAt(0.99) }
}

import t from 'tap'
import type { Job } from '../../../lib/ledger/job.ts'
import type { ChargeRequest } from '../../../lib/ledger/ledger.ts'
import { buildPrice } from '../../../lib/money/pricing.ts'
import { priceLine } from '../../../lib/money/price-line.ts'
import type { UsageReading } from '../../../lib/money/usage.ts'
import { settleJob } from '../../../lib/settlement/settle-job.ts'

const own = buildPrice({ model: 'gpt-5', rubPerMillion: { input: '100', output: '1000' } })
const drawing = buildPrice({ model: 'gpt-image-1', rubPerMillion: { input: '500', output: '4000' } })
const prices = new Map([own, drawing].map(price => [price.hash, price]))

const job: Job = {
  provider: 'openai',
  kind: 'response',
  id: 'resp_1',
  credential: 'first',
  dialect: 'openai',
  operation: 'responses',
  model: 'gpt-5',
  facts: { upstreamModel: 'gpt-5', priceVersions: { '': own.hash, 'gpt-image-1': drawing.hash } },
  nextPollAt: 0,
  deadlineAt: 0,
  exchangeId: 'exchange',
  sequence: 0,
  accountId: 'account',
  keyId: 'key',
  heldMicros: 0,
  state: 'open',
  polls: 1,
  createdAt: 0,
}

const silent: UsageReading = {
  lines: [],
  isTerminal: true,
  hasError: false,
  hasOutput: false,
  outputTextBytes: 0,
  unmeteredTextBytes: 0,
  flags: [],
}
const used: UsageReading['lines'] = [{ meters: { input: 2000, output: 300 } }]

function outcomeOf({ outcome, usageSource, flags, lines }: ChargeRequest): object {
  const micros = lines.reduce((sum, { price, usage }) => sum + priceLine(price, usage).amountMicros, 0)
  return { outcome, usageSource, flags, micros }
}

/** How a job ended, the reading of its response if known, the job, and its charge. */
const rows: readonly (readonly [ends: string, Partial<UsageReading> | undefined, Job, owes: object])[] = [
  [
    'done, with its usage',
    { lines: used, hasOutput: true },
    job,
    { outcome: 'completed', usageSource: 'provider', flags: [], micros: 500_000 },
  ],
  [
    'done, with text and no usage: a token is charged for every four bytes',
    { hasOutput: true, outputTextBytes: 4001 },
    job,
    {
      outcome: 'completed',
      usageSource: 'estimated',
      flags: ['usage_missing', 'estimate_rough'],
      micros: 1_001_000,
    },
  ],
  [
    'with text and no usage: its input is charged too',
    { hasOutput: true, outputTextBytes: 4001 },
    { ...job, facts: { ...job.facts, read: { input: 10_000 } } },
    {
      outcome: 'completed',
      usageSource: 'estimated',
      flags: ['usage_missing', 'estimate_rough'],
      micros: 2_001_000,
    },
  ],
  [
    'done, with an image of another model: at the price of that model when the job was submitted',
    { lines: [...used, { model: 'gpt-image-1-2025-04-23', meters: { output: 100 } }], hasOutput: true },
    job,
    { outcome: 'completed', usageSource: 'provider', flags: [], micros: 900_000 },
  ],
  [
    'done, with usage of a model without a price: at the price of the requested model',
    { lines: [...used, { model: 'o9', meters: { output: 100 } }], hasOutput: true },
    job,
    { outcome: 'completed', usageSource: 'provider', flags: [], micros: 600_000 },
  ],
  [
    'done, at a price unknown to the store: nothing is charged, and it is flagged',
    { lines: used, hasOutput: true },
    { ...job, facts: { upstreamModel: 'gpt-5', priceVersions: { '': 'lost' } } },
    { outcome: 'completed', usageSource: 'provider', flags: ['model_unpriced'], micros: 0 },
  ],
  [
    'done, without a price when it was submitted: nothing is charged, and it is flagged',
    { lines: used, hasOutput: true },
    { ...job, facts: { upstreamModel: '', priceVersions: {} } },
    { outcome: 'completed', usageSource: 'provider', flags: ['model_unpriced'], micros: 0 },
  ],
  [
    'with an unknown outcome: nothing is charged, and it is flagged',
    undefined,
    job,
    { outcome: 'broken', usageSource: 'provider', flags: ['ambiguous'], micros: 0 },
  ],
]

for (const [ends, reading, ended, owes] of rows) {
  await t.test(`a job ends ${ends}`, async t => {
    const ending =
      reading === undefined
        ? { reading: undefined }
        : { hasFailed: false, reading: { ...silent, ...reading } }

    t.same(outcomeOf(settleJob(ended, ending, prices)), owes)
  })
}

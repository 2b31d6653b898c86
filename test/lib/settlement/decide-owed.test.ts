import fc from 'fast-check'
import t from 'tap'
import { buildPrice } from '../../../lib/money/pricing.ts'
import type { Meters, UsageReading } from '../../../lib/money/usage.ts'
import {
  chargeableReading,
  decideOwed,
  isReadUncounted,
  isUncounted,
  type Ending,
  type Owed,
} from '../../../lib/settlement/decide-owed.ts'

type Read = NonNullable<Ending['reading']>

const metered: Read = {
  lines: [{ meters: { input: 9, output: 4 } }],
  isTerminal: true,
  hasError: false,
  hasOutput: true,
}
const cutWithText: Read = { ...metered, lines: [], isTerminal: false }
const cutWithNothing: Read = { ...cutWithText, hasOutput: false }
const failed: Read = { lines: [], isTerminal: true, hasError: true, hasOutput: false }

const whole: Ending = { outcome: 'completed', wasSent: true, drain: 'none', reading: metered }
const refused: Ending = { outcome: 'refused', wasSent: true, drain: 'none' }
const left: Ending = { outcome: 'aborted', wasSent: true, drain: 'none' }
const broken: Ending = { outcome: 'broken', wasSent: true, drain: 'none' }

const zero = (...flags: string[]): Owed => ({ basis: 'zero', flags })
const reported: Owed = { basis: 'reported', source: 'provider', flags: [] }
const visible = (...flags: string[]): Owed => ({ basis: 'estimated', flags, hasUnseen: false })
const unseen = (...flags: string[]): Owed => ({ basis: 'estimated', flags, hasUnseen: true })

const endings: readonly (readonly [what: string, ending: Ending, owed: Owed])[] = [
  ['a request that was never sent', { ...refused, wasSent: false }, { basis: 'nothing' }],
  ['a client that left before it was sent', { ...left, wasSent: false }, { basis: 'nothing' }],
  ['a broken exchange whose request was never sent', { ...broken, wasSent: false }, { basis: 'nothing' }],
  ['a refusal of the provider', { ...refused, endedBy: 'provider' }, zero('provider_refused')],
  ['a request that was sent and has no response', refused, zero('ambiguous')],
  ['a job that may go on under an unknown name', { ...left, mayGoOn: true }, zero('ambiguous')],
  ['a client that left before the response', left, unseen('ambiguous')],
  [
    'a client that left, whose drain exceeded its limit',
    { ...left, drain: 'limited' },
    unseen('ambiguous', 'drain_limited'),
  ],
  [
    'a client that left while too many others were drained',
    { ...left, drain: 'refused' },
    unseen('ambiguous', 'drain_refused'),
  ],
  ['a complete response with a usage', whole, reported],
  [
    'a response that was drained after its client left',
    { ...whole, outcome: 'aborted', drain: 'reading' },
    { basis: 'reported', source: 'drained', flags: [] },
  ],
  ['a broken response whose last event was read', { ...whole, outcome: 'broken' }, reported],
  [
    'a refusal after a complete response that could not be settled',
    { ...whole, outcome: 'refused', endedBy: 'gateway' },
    reported,
  ],
  [
    'a complete response with an error and a usage',
    { ...whole, reading: { ...metered, hasError: true, isTerminal: false } },
    reported,
  ],
  ['an error with a success status and no usage', { ...whole, reading: failed }, zero('provider_error')],
  [
    'an error with a usage of input only',
    { ...whole, reading: { ...failed, lines: [{ meters: { input: 9 } }] } },
    zero('provider_error'),
  ],
  [
    'an error after reasoning that its usage counts',
    { ...whole, reading: { ...failed, lines: [{ meters: { input: 9, output: 4 } }] } },
    reported,
  ],
  ['text that its provider has not counted', { ...whole, isUncounted: true }, unseen()],
  ['a text whose input its provider has not counted', { ...whole, isReadUncounted: true }, visible()],
  [
    'a success in an unreadable encoding',
    { ...whole, reading: undefined, isUnreadable: true },
    unseen('usage_unreadable'),
  ],
  [
    'a success that becomes unreadable before its usage',
    { ...whole, reading: cutWithText, isUnreadable: true },
    unseen('usage_unreadable'),
  ],
  ['a broken success without a byte read', broken, zero('ambiguous')],
  [
    'a complete response without a usage',
    { ...whole, reading: { ...metered, lines: [] } },
    visible('usage_missing'),
  ],
  [
    'a complete response with neither usage nor output',
    { ...whole, reading: { ...metered, lines: [], hasOutput: false } },
    zero('usage_missing'),
  ],
  [
    'a response whose usage came before an incomplete end',
    { ...whole, reading: { ...metered, isTerminal: false } },
    visible(),
  ],
  ['a response that broke before any output', { ...broken, reading: cutWithNothing }, zero('ambiguous')],
  ['a response that broke after some text', { ...broken, reading: cutWithText }, visible()],
  ['a response whose client left after some text', { ...left, reading: cutWithText }, unseen()],
  [
    'a response whose client left before any output',
    { ...left, reading: cutWithNothing },
    unseen('ambiguous'),
  ],
  [
    'a response whose client left, and whose drain exceeded its limit',
    { ...left, reading: cutWithText, drain: 'limited' },
    unseen('drain_limited'),
  ],
  [
    'a response that was cut for lack of money',
    { ...broken, endedBy: 'gateway', reading: cutWithText },
    unseen(),
  ],
  [
    'a response that was cut for lack of money while its tools ran',
    { ...broken, endedBy: 'gateway', reading: cutWithNothing },
    unseen('ambiguous'),
  ],
  [
    'a response that was refused for lack of money before its head was sent',
    { ...refused, endedBy: 'gateway', reading: cutWithText },
    unseen(),
  ],
]
for (const [what, ending, owed] of endings) {
  await t.test(`${what} owes ${[owed.basis, ...('flags' in owed ? owed.flags : [])].join(', ')}`, async t => {
    t.same(decideOwed(ending), owed)
  })
}

const reading = fc.record({
  lines: fc.array(
    fc.record({ meters: fc.record({ input: fc.nat(9), output: fc.nat(9) }, { requiredKeys: [] }) }),
    { maxLength: 2 },
  ),
  isTerminal: fc.boolean(),
  hasError: fc.boolean(),
  hasOutput: fc.boolean(),
})
const ending = fc.record(
  {
    outcome: fc.constantFrom('completed' as const, 'refused', 'aborted', 'broken'),
    wasSent: fc.boolean(),
    drain: fc.constantFrom('none' as const, 'reading', 'limited', 'refused'),
    endedBy: fc.constantFrom('provider' as const, 'gateway'),
    mayGoOn: fc.boolean(),
    reading,
    isUncounted: fc.boolean(),
    isReadUncounted: fc.boolean(),
    isUnreadable: fc.boolean(),
  },
  { requiredKeys: ['outcome', 'wasSent', 'drain'] },
)

await t.test('every sent request leaves a charge, and relayed text is never free', async t => {
  fc.assert(
    fc.property(ending, ({ endedBy, ...rest }) => {
      const one: Ending = endedBy === undefined ? rest : { ...rest, endedBy }
      const { basis } = decideOwed(one)
      if (one.wasSent) t.not(basis, 'nothing')
      const isRelayed = one.outcome !== 'refused' && one.reading?.hasOutput === true
      if (isRelayed && endedBy !== 'provider') t.match(basis, /^(?:reported|estimated)$/)
    }),
  )
})

const price = buildPrice({ model: 'm', rubPerMillion: { input: '1', output: '2' } })
const speechPrice = buildPrice({ model: 's', rubPerUnit: { characters: '0.001' } })

function readingOf(meters: Meters | undefined, more: Partial<UsageReading> = {}): UsageReading {
  return {
    lines: meters === undefined ? [] : [{ meters }],
    isTerminal: true,
    hasError: false,
    hasOutput: true,
    outputTextBytes: 40,
    unmeteredTextBytes: 0,
    flags: [],
    ...more,
  }
}

await t.test('a usage that cannot be charged is dropped, and the text is estimated instead', async t => {
  const zeros = readingOf({ input: 0, output: 0 })
  const spoken = readingOf({ output: 5 })

  t.match(chargeableReading(zeros, 'output', price), { lines: [], unmeteredTextBytes: 40 })
  t.match(chargeableReading(spoken, 'characters', speechPrice), { lines: [], unmeteredTextBytes: 40 })
})

await t.test('any other usage is charged', async t => {
  const kept = [
    readingOf({ input: 9, output: 4 }),
    readingOf({ input: 0, output: 0 }, { hasOutput: false }),
    readingOf({ input: 0, output: 0 }, { hasError: true }),
  ]

  for (const one of kept) t.equal(chargeableReading(one, 'output', price), one)
  const spoken = readingOf({ characters: 5 })
  t.equal(chargeableReading(spoken, 'characters', speechPrice), spoken)
  t.equal(chargeableReading(undefined, 'output', price), undefined)
})

const counts: readonly (readonly [what: string, reading: UsageReading, isUncounted: boolean])[] = [
  ['counts its output', readingOf({ input: 9, output: 4 }), false],
  ['has no text', readingOf({ input: 9, output: 0 }, { outputTextBytes: 0 }), false],
  ['counts none of its text', readingOf({ input: 9, output: 0 }), true],
  ['counts audio in place of text', readingOf({ input: 9, audioOutput: 4 }), false],
  [
    'reported its usage only at its start',
    readingOf({ input: 9, output: 1 }, { unmeteredTextBytes: 40, flags: ['usage_partial'] }),
    true,
  ],
  [
    'reported its usage at its start, and was cut',
    readingOf({ input: 9, output: 1 }, { isTerminal: false, flags: ['usage_partial'] }),
    false,
  ],
  ['has no valid count of its text', readingOf({ input: 9 }, { flags: ['usage_invalid'] }), true],
  ['has an invalid count beside a valid one', readingOf({ output: 4 }, { flags: ['usage_invalid'] }), false],
]
for (const [what, one, expected] of counts) {
  await t.test(`a response that ${what} is ${expected ? 'not counted' : 'counted'}`, async t => {
    t.equal(isUncounted(one, 'output'), expected)
  })
}

await t.test('the input of a complete response is estimated if its usage has none', async t => {
  t.equal(isReadUncounted(readingOf({ output: 4 }), 'output'), true)
  t.equal(isReadUncounted(readingOf({ input: 0, output: 4 }), 'output'), false, 'a reported zero counts')
  t.equal(
    isReadUncounted(readingOf({ output: 4 }, { isTerminal: false }), 'output'),
    false,
    'a cut response does not count',
  )
  t.equal(
    isReadUncounted(readingOf({ characters: 4 }), 'characters'),
    false,
    'speech is measured by characters',
  )
  t.equal(isReadUncounted(readingOf(undefined), 'output'), false, 'without usage nothing is uncounted')
})

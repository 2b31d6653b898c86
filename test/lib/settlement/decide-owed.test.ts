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

const told: Read = {
  lines: [{ meters: { input: 9, output: 4 } }],
  isTerminal: true,
  hasError: false,
  hasOutput: true,
}
const cutWithText: Read = { ...told, lines: [], isTerminal: false }
const cutWithNothing: Read = { ...cutWithText, hasOutput: false }
const failed: Read = { lines: [], isTerminal: true, hasError: true, hasOutput: false }

const whole: Ending = { outcome: 'completed', wasSent: true, drain: 'none', reading: told }
const refused: Ending = { outcome: 'refused', wasSent: true, drain: 'none' }
const left: Ending = { outcome: 'aborted', wasSent: true, drain: 'none' }
const broken: Ending = { outcome: 'broken', wasSent: true, drain: 'none' }

const zero = (...flags: string[]): Owed => ({ basis: 'zero', flags })
const reported: Owed = { basis: 'reported', source: 'provider', flags: [] }
const seen = (...flags: string[]): Owed => ({ basis: 'estimated', flags, hasUnseen: false })
const unseen = (...flags: string[]): Owed => ({ basis: 'estimated', flags, hasUnseen: true })

const endings: readonly (readonly [what: string, ending: Ending, owed: Owed])[] = [
  ['a request that was never sent', { ...refused, wasSent: false }, { basis: 'nothing' }],
  ['a client that left before it was sent', { ...left, wasSent: false }, { basis: 'nothing' }],
  [
    'the end of something that nobody saw and nobody sent',
    { ...broken, wasSent: false },
    { basis: 'nothing' },
  ],
  ['a refusal of the provider', { ...refused, endedBy: 'provider' }, zero('provider_refused')],
  ['a request that was sent and has no response', refused, zero('ambiguous')],
  ['a job that may go on under an unknown name', { ...left, mayGoOn: true }, zero('ambiguous')],
  ['a client that left before the response', left, unseen('ambiguous')],
  [
    'a client that left, whose response was read for too long',
    { ...left, drain: 'limited' },
    unseen('ambiguous', 'drain_limited'),
  ],
  [
    'a client that left while too many others were read on for',
    { ...left, drain: 'refused' },
    unseen('ambiguous', 'drain_refused'),
  ],
  ['a response that is whole and tells its usage', whole, reported],
  [
    'one that was read on for behind its client',
    { ...whole, outcome: 'aborted', drain: 'reading' },
    { basis: 'reported', source: 'drained', flags: [] },
  ],
  ['a broken one whose last event was read', { ...whole, outcome: 'broken' }, reported],
  [
    'a refusal behind a whole response that could not be settled',
    { ...whole, outcome: 'refused', endedBy: 'gateway' },
    reported,
  ],
  [
    'a whole response with an error and a usage',
    { ...whole, reading: { ...told, hasError: true, isTerminal: false } },
    reported,
  ],
  ['an error in a success, and nothing else', { ...whole, reading: failed }, zero('provider_error')],
  [
    'an error that has a usage of its input alone',
    { ...whole, reading: { ...failed, lines: [{ meters: { input: 9 } }] } },
    zero('provider_error'),
  ],
  [
    'an error behind thoughts that its usage counts',
    { ...whole, reading: { ...failed, lines: [{ meters: { input: 9, output: 4 } }] } },
    reported,
  ],
  ['text that its provider has not counted', { ...whole, isUncounted: true }, unseen()],
  ['a text whose input its provider has not counted', { ...whole, isReadUncounted: true }, seen()],
  [
    'a success in bytes that nobody can read',
    { ...whole, reading: undefined, isUnreadable: true },
    unseen('usage_unreadable'),
  ],
  [
    'a success that becomes unreadable before its usage',
    { ...whole, reading: cutWithText, isUnreadable: true },
    unseen('usage_unreadable'),
  ],
  ['a broken success of which nothing was read', broken, zero('ambiguous')],
  ['a whole response without a usage', { ...whole, reading: { ...told, lines: [] } }, seen('usage_missing')],
  [
    'a whole response with neither usage nor output',
    { ...whole, reading: { ...told, lines: [], hasOutput: false } },
    zero('usage_missing'),
  ],
  [
    'a whole response whose usage came before its end',
    { ...whole, reading: { ...told, isTerminal: false } },
    seen(),
  ],
  [
    'a response that broke before it said anything',
    { ...broken, reading: cutWithNothing },
    zero('ambiguous'),
  ],
  ['a response that broke behind some text', { ...broken, reading: cutWithText }, seen()],
  ['a response whose client left behind some text', { ...left, reading: cutWithText }, unseen()],
  [
    'a response whose client left before any of it',
    { ...left, reading: cutWithNothing },
    unseen('ambiguous'),
  ],
  [
    'a response whose client left, and that was read for too long',
    { ...left, reading: cutWithText, drain: 'limited' },
    unseen('drain_limited'),
  ],
  [
    'a response that was cut since no money was left',
    { ...broken, endedBy: 'gateway', reading: cutWithText },
    unseen(),
  ],
  [
    'one that was cut for money while its tools were at work',
    { ...broken, endedBy: 'gateway', reading: cutWithNothing },
    unseen('ambiguous'),
  ],
  [
    'one that was refused for money before its head had left',
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

await t.test('whatever was sent leaves a charge, and text that was relayed is never free', async t => {
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

await t.test(
  'a usage that nothing can be charged by is set aside, and the text counts in its place',
  async t => {
    const zeros = readingOf({ input: 0, output: 0 })
    const spoken = readingOf({ output: 5 })

    t.match(chargeableReading(zeros, 'output', price), { lines: [], unmeteredTextBytes: 40 })
    t.match(chargeableReading(spoken, 'characters', speechPrice), { lines: [], unmeteredTextBytes: 40 })
  },
)

await t.test('any other usage is charged by', async t => {
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
  ['counts what it wrote', readingOf({ input: 9, output: 4 }), false],
  ['wrote nothing', readingOf({ input: 9, output: 0 }, { outputTextBytes: 0 }), false],
  ['counts nothing of its text', readingOf({ input: 9, output: 0 }), true],
  ['counts audio in place of text', readingOf({ input: 9, audioOutput: 4 }), false],
  [
    'told its usage only when it began',
    readingOf({ input: 9, output: 1 }, { unmeteredTextBytes: 40, flags: ['usage_partial'] }),
    true,
  ],
  [
    'told its usage when it began, and was cut there',
    readingOf({ input: 9, output: 1 }, { isTerminal: false, flags: ['usage_partial'] }),
    false,
  ],
  ['tells no number for its text', readingOf({ input: 9 }, { flags: ['usage_invalid'] }), true],
  ['tells a wrong number beside its own', readingOf({ output: 4 }, { flags: ['usage_invalid'] }), false],
]
for (const [what, one, expected] of counts) {
  await t.test(`a response that ${what} is ${expected ? 'not counted' : 'counted'}`, async t => {
    t.equal(isUncounted(one, 'output'), expected)
  })
}

await t.test('a whole text whose usage names no input has that estimated', async t => {
  t.equal(isReadUncounted(readingOf({ output: 4 }), 'output'), true)
  t.equal(isReadUncounted(readingOf({ input: 0, output: 4 }), 'output'), false, 'nothing was read')
  t.equal(isReadUncounted(readingOf({ output: 4 }, { isTerminal: false }), 'output'), false, 'it was cut')
  t.equal(isReadUncounted(readingOf({ characters: 4 }), 'characters'), false, 'speech reads characters')
  t.equal(isReadUncounted(readingOf(undefined), 'output'), false, 'there is no usage')
})

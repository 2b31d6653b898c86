import fc from 'fast-check'
import t from 'tap'
import { BatchTally, type BatchRequest } from '../../../lib/dialects/batch-tally.ts'
import type { RequestFacts } from '../../../lib/dialects/dialect.ts'
import type { ProviderTool } from '../../../lib/dialects/provider-tools.ts'
import type { NamedPrice } from '../../../lib/models/requested-model.ts'
import { namedShareCost } from '../../../lib/batches/cost-of-share.ts'
import { batchShareCost } from '../../../lib/metering/batch-cost.ts'
import { exchangeCost, writesCacheByDefault } from '../../../lib/metering/exchange-cost.ts'
import { outputCap } from '../../../lib/metering/output-cap.ts'
import { parseRoubles } from '../../../lib/money/amount.ts'
import { sumOf } from '../../../lib/money/exchange-cost.ts'
import { buildPrice } from '../../../lib/money/pricing.ts'
import type { MediaPart } from '../../../lib/http/media-part.ts'
import { costTarget } from '../../fixtures/cost-target.ts'

const outputTokensMax = 4096
const windowTokens = 200_000
const price = buildPrice({
  model: 'm',
  rubPerMillion: {
    input: '100',
    cachedInput: '10',
    cacheWrite5m: '125',
    cacheWrite1h: '200',
    audioInput: '700',
    output: '500',
  },
  rubPerUnit: { searches: '1', requests: '0.1' },
  factors: { priority: '2', us: '1.1' },
  above: [{ inputTokens: 100_000, mode: 'whole', rubPerMillion: { input: '200', output: '900' } }],
})
const kinds = ['openai', 'anthropic', 'google', 'mistral', 'xai', 'openrouter', 'venice'] as const
const upstreamModelNames = [
  'm',
  'o4-mini',
  'gpt-5-search-api',
  'grok-4-multi-agent',
  'openai/gpt-5:online',
] as const

const mediaPart: fc.Arbitrary<MediaPart> = fc
  .record({
    kind: fc.constantFrom<MediaPart['kind']>('image', 'audio', 'document'),
    bytes: fc.option(fc.integer({ min: 1, max: 300_000 }), { nil: undefined }),
  })
  .map(({ kind, bytes }) => ({
    path: 'messages[0].content[0]',
    kind,
    ...(bytes !== undefined && { bytes }),
    bodyStart: 0,
    bodyBytes: bytes === undefined ? 0 : Math.ceil((bytes * 4) / 3),
  }))

const tool: fc.Arbitrary<ProviderTool> = fc
  .record({
    type: fc.constantFrom(
      'websearch',
      'websearch20250305',
      'webfetch20250910',
      'codeinterpreter',
      'googlesearch',
    ),
    uses: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
  })
  .map(({ type, uses }) => ({ type, ...(uses !== undefined && { uses }) }))

const request: fc.Arbitrary<BatchRequest> = fc
  .record({
    textBytes: fc.integer({ min: 1, max: 400_000 }),
    cap: fc.option(fc.integer({ min: 1, max: 10_000 }), { nil: undefined }),
    candidates: fc.integer({ min: 1, max: 3 }),
    media: fc.array(mediaPart, { maxLength: 3 }),
    tools: fc.array(tool, { maxLength: 2 }),
    completionTokensCap: fc.option(fc.integer({ min: 1, max: 10_000 }), { nil: undefined }),
    predictedBytes: fc.option(fc.integer({ min: 1, max: 20_000 }), { nil: undefined }),
    isCompacted: fc.boolean(),
    cacheWrite: fc.constantFrom(undefined, '5m' as const, '1h' as const),
    wantedTier: fc.constantFrom(undefined, 'priority', 'us'),
  })
  .map(
    ({
      textBytes,
      cap,
      candidates,
      media,
      tools,
      completionTokensCap,
      predictedBytes,
      isCompacted,
      cacheWrite,
      wantedTier,
    }) => ({
      at: 'line 1',
      model: 'm',
      endpoint: '/v1/chat/completions',
      textBytes,
      ...(cap !== undefined && { outputTokensCap: cap }),
      ...(completionTokensCap !== undefined && { completionTokensCap }),
      ...(predictedBytes !== undefined && { predictedBytes }),
      ...(isCompacted && { isCompacted }),
      ...(tools.length > 0 && { tools }),
      ...(cacheWrite !== undefined && { cacheWrite }),
      ...(wantedTier !== undefined && { wantedTier }),
      candidates,
      media,
      objects: [],
      filesInText: [],
    }),
  )

interface Costs {
  readonly likelyMicros: number
  readonly worstMicros: number
  /** The strict sum of the same requests, each sent separately. */
  readonly aloneMicros: number
}

interface BatchTarget {
  readonly kind: string
  readonly model: string
  readonly mediaRub: Record<string, string>
  /** Models that each request names besides its own. */
  readonly named?: readonly NamedPrice[]
}

function costsOf(
  requests: readonly BatchRequest[],
  { kind, model, mediaRub, named = [] }: BatchTarget,
): Costs {
  const tally = new BatchTally(1000)
  for (const each of requests) tally.add(each)
  const { shares } = tally.facts()
  if (shares.length === 0) throw new Error('a batch of no requests')
  const hold = { likelyOutputTokens: 4096, mediaRub } as Parameters<typeof batchShareCost>[1]
  const own = { price, kind, model, outputTokensMax, contextTokensMax: windowTokens }
  const target = { ...costTarget(own), named }
  const beside = {
    price,
    providerKind: kind,
    upstreamModelName: model,
    outputTokensMax: outputCap(target, {}),
    windowTokens,
    isReadInParts: false,
    isWritten: writesCacheByDefault(model, kind),
    contexts: new Map(),
  }
  const batch = shares
    .flatMap(share => [
      batchShareCost({ share, ...beside }, hold),
      ...named.map(one => namedShareCost({ share, ...beside }, one, hold)),
    ])
    .reduce((sum, cost) => sumOf(sum, cost))
  let aloneMicros = 0
  for (const { at: _at, model: _model, endpoint: _endpoint, filesInText: _files, ...facts } of requests) {
    const alone = { isStreaming: false, ...facts } as RequestFacts
    aloneMicros += exchangeCost({ target, facts: alone, hold }).strictMicros
  }
  return { ...batch, aloneMicros }
}

t.test('the hold of a batch covers the worst costs of its requests sent separately', async t => {
  fc.assert(
    fc.property(
      fc.array(request, { minLength: 1, maxLength: 6 }),
      fc.constantFrom(...kinds),
      fc.constantFrom<Record<string, string>>({}, { image: '0.5' }, { audio: '2', document: '1.25' }),
      fc.constantFrom(...upstreamModelNames),
      (requests, kind, mediaRub, model) => {
        const { likelyMicros, worstMicros, aloneMicros } = costsOf(requests, { kind, model, mediaRub })
        if (worstMicros < aloneMicros)
          throw new Error(`the hold is ${worstMicros}, and the requests may cost ${aloneMicros}`)
        if (likelyMicros > worstMicros)
          throw new Error(`the likely ${likelyMicros} exceeds the worst ${worstMicros}`)
      },
    ),
    { numRuns: 2000 },
  )
  t.pass('in 2,000 batches')
})

const advisor: NamedPrice = {
  names: ['advisor'],
  price: buildPrice({ model: 'advisor', rubPerMillion: { input: '500', output: '2500' } }),
  isDrawing: false,
  model: { outputTokensMax: 2048 },
}
const drawing: NamedPrice = {
  names: ['drawing'],
  price: buildPrice({
    model: 'drawing',
    rubPerMillion: { input: '500', imageInput: '900', imageOutput: '4000' },
  }),
  isDrawing: true,
}

t.test('the hold covers models that the requests name besides their own', async t => {
  fc.assert(
    fc.property(
      fc.array(request, { minLength: 1, maxLength: 6 }),
      fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
      fc.boolean(),
      (requests, uses, isDrawing) => {
        const withTool = requests.map(({ tools: _tools, isCompacted: _isCompacted, ...each }) =>
          isDrawing
            ? // Only the responses format has this tool, and it has one candidate.
              {
                ...each,
                candidates: 1,
                tools: [{ type: 'imagegeneration' }],
                drawsWith: 'drawing',
              }
            : {
                ...each,
                tools: [{ type: 'advisor20260301', model: 'advisor', ...(uses !== undefined && { uses }) }],
                namedModels: [{ name: 'advisor', at: 'tools[0].model' }],
              },
        )
        const named = [isDrawing ? drawing : advisor]
        const kind = isDrawing ? 'openai' : 'anthropic'
        const { worstMicros, aloneMicros } = costsOf(withTool, {
          kind,
          model: 'm',
          mediaRub: {},
          named,
        })
        if (worstMicros < aloneMicros)
          throw new Error(`the hold is ${worstMicros}, and the requests may cost ${aloneMicros}`)
      },
    ),
    { numRuns: 1000 },
  )
  t.pass('in 1,000 batches')
})

t.test("each part of a kind of media with the operator's amount costs that amount", async t => {
  const image = { path: 'p', kind: 'image' as const, bytes: 90_000, bodyStart: 0, bodyBytes: 120_000 }
  const bare = {
    at: 'line 1',
    model: 'm',
    endpoint: '/v1/chat/completions',
    textBytes: 100,
    candidates: 1,
    media: [],
    objects: [],
    filesInText: [],
  }
  const illustrated = { ...bare, media: [image, image] }
  const target = { kind: 'openai', model: 'm', mediaRub: { image: '0.5' } }

  const without = costsOf([bare, bare], target)
  const withImages = costsOf([illustrated, illustrated], target)

  const four = 4 * parseRoubles('0.5')
  t.equal(withImages.worstMicros - without.worstMicros, four)
  t.equal(withImages.likelyMicros - without.likelyMicros, four)
})

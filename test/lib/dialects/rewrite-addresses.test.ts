import fc from 'fast-check'
import t from 'tap'
import { answerAddresses, AddressRewriter } from '../../../lib/dialects/rewrite-addresses.ts'

const about = (kind: 'batch' | 'operation') => ({
  operation: undefined as never,
  upstreamPath: '/x',
  object: { kind, id: 'x' },
})
const inBatch = answerAddresses('anthropic', about('batch'))!
const inOperation = answerAddresses('google', about('operation'))!
const theirs = 'https://provider.example/v1/'
const ours = 'https://gateway.example/v1/'
const rewrite = (address: string): string | undefined =>
  address.startsWith(theirs) ? ours + address.slice(theirs.length) : undefined

/** Pushes a text in pieces that end at the cuts. */
function through(interest: typeof inBatch, text: string, cuts: readonly number[]): string {
  const rewriter = new AddressRewriter(interest, rewrite)
  const bytes = Buffer.from(text)
  const places = [...cuts.map(cut => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b)
  const out: Buffer[] = []
  let start = 0
  for (const end of places) {
    out.push(Buffer.from(rewriter.push(bytes.subarray(start, end))))
    start = end
  }
  out.push(rewriter.end())
  return Buffer.concat(out).toString()
}

const cuts = fc.array(fc.nat(), { maxLength: 12 })
const text = fc.oneof(fc.string(), fc.constantFrom(`${theirs}x`, 'results_url', '"', '\\', 'é'))

await t.test('an address of the provider becomes the gateway’s, wherever the response is cut', t => {
  const anything = fc.dictionary(text, fc.jsonValue())
  const property = fc.property(anything, anything, fc.string(), cuts, (before, after, path, places) => {
    const strip = (members: Record<string, unknown>): string =>
      JSON.stringify(members, (key, value: unknown) => (key === 'results_url' ? undefined : value)).slice(
        1,
        -1,
      )
    const join = (value: string): string => {
      const parts = [strip(before), `"results_url" :\n ${JSON.stringify(value)}`, strip(after)]
      return ` {${parts.filter(part => part !== '').join(' ,')}}\n`
    }
    return through(inBatch, join(theirs + path), places) === join(ours + path)
  })
  fc.assert(property, { numRuns: 300 })
  t.end()
})

await t.test('all other bytes stay, also of bodies that are no JSON', t => {
  const kept = fc.oneof(
    fc.json(),
    fc.string(),
    text.map(value =>
      JSON.stringify({ other: { results_url: theirs }, results_url: `http://else/${value}` }),
    ),
    fc.constantFrom(
      `{"results_url":null}`,
      `{"results_url":"${theirs}`,
      `{"results_url":["${theirs}"]}`,
      '[',
      '',
    ),
    fc.constant(JSON.stringify({ results_url: `${theirs}${'x'.repeat(70_000)}` })),
  )
  fc.assert(
    fc.property(kept, cuts, (value, places) => through(inBatch, value, places) === value),
    { numRuns: 300 },
  )
  t.end()
})

await t.test("addresses of Google's videos are rewritten, also with escapes", t => {
  const answer = (uri: string): string =>
    `{"name":"x","done":true,"response":{"@type":"t","generateVideoResponse":{"generatedSamples":[{"video":{"uri":"${uri}"}},{"video":{"uri":"${uri}"}}]}}}`
  const escaped = String.raw`https:\/\/provider.example\/v1\/files\/a:download?alt=media`
  t.equal(
    through(inOperation, answer(escaped), [70, 130, 140, 200]),
    answer(`${ours}files/a:download?alt=media`),
  )
  t.end()
})

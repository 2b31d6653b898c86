import fc from 'fast-check'
import t from 'tap'
import { fold, JsonScanError, JsonScanner, scanJson } from '../../../lib/http/json-scan.ts'
import type { Interest, ScanOptions, ScanResult } from '../../../lib/http/json-scan.ts'

/** Reports every value at every depth whose keys are of the pool. */
const everything: { name: string; keep: 'value'; members: Map<string, Interest>; items?: Interest } = {
  name: 'any',
  keep: 'value',
  members: new Map(),
}
const keyPool = ['model', 'messages', 'a', '__proto__', 'constructor', 'ключ', 'x y', '']
for (const key of keyPool) everything.members.set(key, everything)
everything.items = everything

function scanIn(
  sizes: readonly number[],
  body: Buffer,
  interest: Interest,
  options?: ScanOptions,
): ScanResult {
  const scanner = new JsonScanner(interest, options)
  let start = 0
  for (let turn = 0; start < body.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1
    scanner.push(Buffer.from(body.subarray(start, start + size)))
    start += size
  }
  return scanner.end()
}

function isParsed(body: Buffer): boolean {
  try {
    // Node's decoder drops a byte order mark only in TextDecoder, so `toString` keeps it for JSON.parse.
    JSON.parse(body.toString())
    return true
  } catch (error) {
    if (error instanceof SyntaxError) return false
    throw error
  }
}

function refusal(
  body: string | Buffer,
  interest: Interest = everything,
  options?: ScanOptions,
): JsonScanError {
  try {
    scanJson(Buffer.from(body), interest, options)
  } catch (error) {
    if (error instanceof JsonScanError) return error
    throw error
  }
  throw new Error('the scan took it')
}

const json = fc.letrec<{ value: unknown }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.string({ unit: 'binary' }),
    fc.string({ maxLength: 80 }),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(fc.oneof(fc.constantFrom(...keyPool), fc.string()), tie('value'), { maxKeys: 5 }),
  ),
})).value

const text = fc
  .tuple(json, fc.constantFrom('', ' ', '\t', '\r\n'))
  .map(([value, indent]) => ` ${indent}${JSON.stringify(value, null, indent)}\r\n`)

const mutated = fc
  .tuple(
    text,
    fc.array(
      fc.tuple(fc.nat(), fc.nat(2), fc.constantFrom(...'{}[],:"\\0-+.eEtfnu1a \n\u0000\u007f\u00e9')),
      {
        maxLength: 3,
      },
    ),
  )
  .map(([source, edits]) => {
    let changed = source
    for (const [place, removed, added] of edits) {
      const at = place % (changed.length + 1)
      changed = changed.slice(0, at) + added + changed.slice(at + removed)
    }
    return Buffer.from(changed)
  })

await t.test('it takes exactly what JSON.parse takes, and finds the same in every chunking', async t => {
  let valid = 0
  const options = { rejectDuplicates: false }
  fc.assert(
    fc.property(
      mutated,
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 4 }),
      (body, sizes) => {
        if (!isParsed(body)) {
          t.throws(() => scanJson(body, everything, options), JsonScanError)
          t.throws(() => scanIn(sizes, body, everything, options), JsonScanError)
          return
        }
        valid++
        const whole = scanJson(body, everything, options)
        t.same(scanIn(sizes, body, everything, options), whole)
        t.same(scanIn([1], body, everything, options), whole)
        for (const { raw, start, end, type } of whole.findings) {
          t.ok(raw?.equals(body.subarray(start, end)))
          const value: unknown = JSON.parse(body.toString('utf8', start, end))
          t.equal(typeOf(value), type)
        }
      },
    ),
    { numRuns: 3000 },
  )
  t.ok(valid > 500, 'both kinds were seen')
})

function typeOf(value: unknown): string {
  if (value === null || typeof value === 'boolean') return String(value)
  return Array.isArray(value) ? 'array' : typeof value
}

await t.test('duplicates only of names that the interest has, in the same object', async t => {
  const interest: Interest = {
    members: new Map([
      ['model', { name: 'model' }],
      ['inlinedata', { name: 'data' }],
    ]),
  }
  const google = { foldUnderscores: true }
  for (const body of [
    '{"model":1,"model":2}',
    '{"model":1,"mod\\u0065l":2}',
    '{"MODEL":1,"b":2,"model":2}',
    '{"model":1,"model":',
  ]) {
    const error = refusal(body, interest)
    t.equal(error.reason, 'duplicate', body)
    t.match(error.path, /^model$/i)
  }
  t.equal(refusal('{"inline_data":1,"inlineData":2}', interest, google).reason, 'duplicate')
  t.equal(scanJson(Buffer.from('{"inline_data":1,"inlineDate":2}'), interest, google).findings.length, 1)
  const far = '{"a":1,"a":2,"b":{"model":1,"model":2},"model":{"model":1}}'
  t.equal(scanJson(Buffer.from(far), interest).findings.length, 1)
})
await t.test('keys match whatever their escapes and case, and the path shows them as they are', async t => {
  const interest: Interest = { members: new Map([['model', { name: 'model', keep: 'value' }]]) }
  for (const key of ['model', 'Model', 'mod\\u0065l', '\\u006D\\u006f\\u0064\\u0065\\u006c']) {
    const { findings } = scanIn([1], Buffer.from(`{"x":1,"${key}" : "m"}`), interest)
    t.equal(findings.length, 1, key)
    t.match(findings[0]?.path, /^model$/i)
    t.equal(findings[0]?.raw?.toString(), '"m"')
  }
  t.equal(fold('\u017ftream_\u212aey', true), 'streamkey')
})

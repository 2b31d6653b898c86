import { randomBytes } from 'node:crypto'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import t from 'tap'
import { createDecoder } from '../../../lib/http/decode.ts'

const caps = { outputBytesMax: 50_000_000, ratioMax: 1000 }
const text = Buffer.from(`${'data: {"a":"é"}\n\n'.repeat(5000)}the end`)
const encodings: readonly (readonly [string, Buffer])[] = [
  ['identity', text],
  ['', text],
  ['gzip', gzipSync(text)],
  ['X-GZIP', gzipSync(text)],
  ['deflate', deflateSync(text)],
  ['deflate', deflateRawSync(text)],
  ['br', brotliCompressSync(text)],
  ['zstd', zstdCompressSync(text)],
]

await t.test('every encoding is decoded, in chunks of any size', async t => {
  for (const [encoding, bytes] of encodings) {
    for (const size of [1, 100, 100_000]) {
      const out: Buffer[] = []
      const decoder = createDecoder(encoding, chunk => out.push(chunk), caps)
      for (let position = 0; position < bytes.length; position += size) {
        await decoder?.write(bytes.subarray(position, position + size))
        if (size === 1 && position > 500) {
          await decoder?.write(bytes.subarray(position + 1))
          break
        }
      }
      await decoder?.end()
      t.equal(Buffer.concat(out).equals(text), true, `${encoding} by ${size}`)
      t.equal(decoder?.isBroken, false)
    }
  }
})

await t.test('the output of a chunk is delivered before its write resolves', async t => {
  const first = Buffer.from('event one')
  const bytes = gzipSync(first)
  const out: string[] = []
  const decoder = createDecoder('gzip', chunk => out.push(chunk.toString()), caps)
  await decoder?.write(bytes)
  t.same(out, ['event one'])
  await decoder?.end()
})

await t.test('an unknown encoding has no decoder', async t => {
  t.equal(
    createDecoder('lzma', () => {}, caps),
    undefined,
  )
  t.equal(
    createDecoder('gzip, br', () => {}, caps),
    undefined,
  )
})

await t.test('damaged input sets isBroken and throws nothing', async t => {
  for (const [encoding, whole] of encodings.slice(2)) {
    const bytes = Buffer.from(whole)
    bytes.fill(0xff, 12)
    const decoder = createDecoder(encoding, () => {}, caps)
    await decoder?.write(bytes)
    await decoder?.write(bytes)
    await decoder?.end()
    t.equal(decoder?.isBroken, true, encoding)
  }
})

await t.test('incomplete input sets isBroken and delivers its first part', async t => {
  for (const [encoding, whole] of encodings.slice(2)) {
    let bytes = 0
    const decoder = createDecoder(encoding, chunk => (bytes += chunk.length), caps)
    await decoder?.write(whole.subarray(0, whole.length - 5))
    await decoder?.end()
    t.equal(decoder?.isBroken, true, encoding)
    t.ok(bytes <= text.length)
  }
})

await t.test('decoding stops when the output exceeds a cap', async t => {
  const bomb = gzipSync(Buffer.alloc(20_000_000))
  for (const tight of [
    { outputBytesMax: 2_000_000, ratioMax: 1e9 },
    { outputBytesMax: 1e9, ratioMax: 100 },
  ]) {
    let bytes = 0
    const decoder = createDecoder('gzip', chunk => (bytes += chunk.length), tight)
    await decoder?.write(bomb)
    await decoder?.end()
    t.equal(decoder?.isBroken, true)
    t.ok(bytes <= 2_100_000, String(bytes))
  }
})

await t.test('an empty input is not broken', async t => {
  const decoder = createDecoder('gzip', () => {}, caps)
  await decoder?.end()
  t.equal(decoder?.isBroken, false)
})

await t.test('pieces of one byte wait together in little memory, and are decoded completely', async t => {
  const bytes = gzipSync(randomBytes(100_000))
  let decoded = 0
  const decoder = createDecoder('gzip', chunk => (decoded += chunk.length), caps)
  const heapBefore = process.memoryUsage().heapUsed
  let last: void | Promise<void> = undefined
  for (let at = 0; at < bytes.length; at += 1) last = decoder?.write(bytes.subarray(at, at + 1))

  t.equal(decoder?.waitingBytes, bytes.length - 1, 'all bytes after the first piece wait')
  const usedBytes = process.memoryUsage().heapUsed - heapBefore
  t.ok(usedBytes < 300 * bytes.length, `${usedBytes} bytes for ${bytes.length} pieces`)
  await last
  t.equal(decoder?.waitingBytes, 0)
  await decoder?.end()
  t.equal(decoded, 100_000)
  t.equal(decoder?.isBroken, false)
})

await t.test('writes that wait behind damaged input resolve', async t => {
  const decoder = createDecoder('gzip', () => {}, caps)
  const written = [0, 1, 2].map(async () => decoder?.write(Buffer.alloc(50, 1)))
  await Promise.all(written)
  await decoder?.end()
  t.equal(decoder?.isBroken, true)
})

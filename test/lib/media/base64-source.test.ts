import fc from 'fast-check'
import t from 'tap'
import { scanJson } from '../../../lib/http/json-scan.ts'
import { Base64Source } from '../../../lib/media/base64-source.ts'
import { MediaBudget } from '../../../lib/media/media-reader.ts'
import { bodyInMemory } from '../../fixtures/body-in-memory.ts'

/** How JSON serialisers spell the same text. */
const spellings: Readonly<Record<string, (text: string) => string>> = {
  plain: text => text,
  'with every slash escaped, as PHP does': text => text.replaceAll('/', '\\/'),
  'with some characters as numbers': text => text.replaceAll(/[+=aZ]/g, unicodeEscape),
  'with all characters as numbers': text => text.replaceAll(/[^]/g, unicodeEscape),
}

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

const encodings: Readonly<Record<string, (bytes: Buffer) => string>> = {
  base64: bytes => bytes.toString('base64'),
  'base64 without padding': bytes => bytes.toString('base64').replaceAll('=', ''),
  base64url: bytes => bytes.toString('base64url'),
  'a data URL': bytes => `data:image/png;name=a/b;base64,${bytes.toString('base64')}`,
}

function sourceOf(text: string): Base64Source {
  const body = Buffer.from(`{"other":"x","data":"${text}","after":1}`)
  const [found] = scanJson(body, { members: new Map([['data', { name: 'data', keep: 'base64' }]]) }).findings
  if (found?.base64 === undefined) throw new Error('no member was found')
  const { bytes, isDataUrl = false } = found.base64
  return new Base64Source(bodyInMemory(body), { ...found, bytes, isDataUrl }, new MediaBudget())
}

for (const [encoding, encode] of Object.entries(encodings)) {
  for (const [spelling, spell] of Object.entries(spellings)) {
    await t.test(`${encoding} ${spelling} is read at any position`, async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.uint8Array({ maxLength: 2000 }),
          fc.array(fc.tuple(fc.nat(2100), fc.nat(2100)), { minLength: 1, maxLength: 8 }),
          async (array, reads) => {
            const bytes = Buffer.from(array)
            const source = sourceOf(spell(encode(bytes)))
            if ((await source.size()) !== bytes.length) return false
            for (const [position, length] of reads) {
              const read = await source.read(position, length)
              if (!read.equals(bytes.subarray(position, position + length))) return false
            }
            return true
          },
        ),
        { numRuns: 60 },
      )
    })
  }
}

await t.test('a long text with escapes is read at positions in any order', async t => {
  const bytes = Buffer.alloc(400_000, 'a ?>~ÿ/+')
  const source = sourceOf(bytes.toString('base64').replaceAll('/', '\\/'))
  for (const position of [0, 399_000, 10, 200_000, 65_536, 399_999, 3]) {
    t.ok((await source.read(position, 1000)).equals(bytes.subarray(position, position + 1000)))
  }
})

await t.test('a text without escapes is read only at the requested position', async t => {
  const bytes = Buffer.alloc(3_000_000, 'x')
  const text = Buffer.from(JSON.stringify(bytes.toString('base64')))
  let readBytes = 0
  const body = {
    length: text.length,
    read: (position: number, length: number) => {
      readBytes += length
      return Promise.resolve(text.subarray(position, position + length))
    },
  }
  const place = { start: 0, end: text.length, bytes: bytes.length, isDataUrl: false }
  const source = new Base64Source(body, place, new MediaBudget())
  t.ok((await source.read(2_999_000, 1000)).equals(bytes.subarray(-1000)))
  t.ok(readBytes < 2000, `${readBytes} bytes were read`)
})

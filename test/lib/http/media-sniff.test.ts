import t from 'tap'
import { detectMediaType, mediaKind } from '../../../lib/http/media-part.ts'

const latin1 = (text: string) => Buffer.from(text, 'latin1')
const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')
const ftyp = (...brands: string[]) => {
  const [major, ...others] = brands
  const head = Buffer.alloc(16 + others.length * 4)
  head.writeUInt32BE(head.length, 0)
  head.write(`ftyp${major}`, 4, 'latin1')
  for (const [index, brand] of others.entries()) head.write(brand, 16 + index * 4, 'latin1')
  return Buffer.concat([head, Buffer.alloc(40)])
}

const heads: [string | undefined, Buffer][] = [
  ['image/jpeg', hex('ff d8 ff e0 00 10 4a 46')],
  ['image/png', hex('89 50 4e 47 0d 0a 1a 0a 00 00 00 0d')],
  ['image/gif', latin1('GIF89a......')],
  ['image/gif', latin1('GIF87a......')],
  ['image/webp', latin1('RIFF\x10\0\0\0WEBPVP8 ')],
  ['image/bmp', latin1('BM\x36\0\0\0\0\0\0\0\x36\0\0\0')],
  ['image/tiff', latin1('II*\0\x08\0\0\0')],
  ['image/tiff', latin1('MM\0*\0\0\0\x08')],
  ['image/heic', ftyp('heic', 'mif1', 'heic')],
  ['image/heic', ftyp('mif1', 'mif1', 'heic')],
  ['image/heif', ftyp('mif1', 'miaf')],
  ['image/avif', ftyp('avif', 'mif1')],
  ['image/avif', ftyp('mif1', 'avif')],
  ['image/svg+xml', latin1('<svg xmlns="http://www.w3.org/2000/svg">')],
  ['image/svg+xml', latin1('\xef\xbb\xbf <?xml version="1.0"?>\n<!-- x -->\n<svg>')],
  ['application/pdf', latin1('%PDF-1.7\n')],
  ['application/pdf', latin1('junk before\n%PDF-1.4')],
  ['audio/wav', latin1('RIFF\x24\0\0\0WAVEfmt ')],
  ['audio/mpeg', latin1('ID3\x04\0\0\0\0\0\0')],
  ['audio/mpeg', hex('ff fb 90 64 00 00')],
  ['audio/mpeg', hex('ff f3 40 c4 00 00')],
  ['audio/aac', hex('ff f1 50 80 02 1f fc')],
  ['audio/flac', latin1('fLaC\0\0\0\x22')],
  ['audio/ogg', latin1('OggS\0\x02\0\0\0\0\0\0\0\0OpusHead')],
  ['video/ogg', latin1('OggS\0\x02\0\0\0\0\0\0\0\0\x80theora')],
  ['audio/mp4', ftyp('M4A ', 'isom')],
  ['video/mp4', ftyp('isom', 'avc1')],
  ['video/mp4', ftyp('mp42')],
  ['video/quicktime', ftyp('qt  ')],
  ['video/3gpp', ftyp('3gp5')],
  ['video/webm', Buffer.concat([hex('1a 45 df a3 9f 42 82 84'), latin1('webm')])],
  ['video/x-matroska', Buffer.concat([hex('1a 45 df a3 a3 42 82 88'), latin1('matroska')])],
  ['video/x-msvideo', latin1('RIFF\x24\0\0\0AVI LIST')],
  ['video/x-flv', latin1('FLV\x01\x05')],
  ['application/zip', latin1('PK\x03\x04\x14\0')],
  ['text/html', latin1('\n<!DOCTYPE html><html>')],
  ['text/html', latin1('<HTML>')],
  [undefined, latin1('RIFF\x24\0\0\0XXXX')],
  [undefined, latin1('BM is a car')],
  [undefined, latin1('plain text')],
  [undefined, hex('ff ff ff ff ff ff')],
  [undefined, hex('ff d8')],
  [undefined, Buffer.alloc(0)],
  [undefined, Buffer.alloc(4096)],
]

await t.test('the type of a file is detected from its first bytes', async t => {
  for (const [type, head] of heads) t.equal(detectMediaType(head), type, head.toString('latin1', 0, 20))
})

await t.test(
  'a cut head is never detected as another kind of media (except video in Ogg, which is marked late)',
  async t => {
    for (const [type, head] of heads) {
      for (let length = 0; length < head.length; length++) {
        const found = detectMediaType(head.subarray(0, length))
        if (found === undefined || type === undefined) continue
        const same = mediaKind(found) === mediaKind(type) || type === 'video/ogg'
        if (!same) t.fail(`${type} cut at ${length} became ${found}`)
      }
    }
    t.pass('every head at every length')
  },
)

await t.test('types have kinds', async t => {
  t.equal(mediaKind('image/png'), 'image')
  t.equal(mediaKind('audio/wav'), 'audio')
  t.equal(mediaKind('video/mp4'), 'video')
  for (const type of [
    'application/pdf',
    'text/plain',
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  ]) {
    t.equal(mediaKind(type), 'document', type)
  }
  t.equal(mediaKind('application/zip'), 'other')
})

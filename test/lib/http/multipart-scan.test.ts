import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { multipartBoundary, MultipartError, MultipartScanner } from '../../../lib/http/multipart-scan.ts'
import { scanMultipart } from '../../fixtures/scan-multipart.ts'

const form = (...lines: string[]) => Buffer.from(lines.join('\r\n'), 'latin1')
const field = 'Content-Disposition: form-data; name="a"'

function reasonOf(body: Buffer | string, partsMax = 1000, isRelated = false): string {
  const bytes = Buffer.from(body)
  const options = { partsMax, isRelated }
  const whole = refusal(() => scanMultipart(bytes, 'b', options))
  const scanner = new MultipartScanner('b', options)
  const inPieces = refusal(() => {
    for (const byte of bytes) scanner.push(Buffer.from([byte]))
    scanner.end()
  })
  assert.deepEqual(inPieces, whole, 'the same refusal in pieces as whole')
  return whole?.reason ?? 'none'
}

function refusal(scan: () => void): { reason: string; offset: number } | undefined {
  try {
    scan()
  } catch (error) {
    if (error instanceof MultipartError) return { reason: error.reason, offset: error.offset }
    throw error
  }
  return undefined
}

await t.test('the boundary is read from the content type', async t => {
  for (const [type, boundary] of [
    ['multipart/form-data; boundary=abc', 'abc'],
    ['Multipart/Form-Data;charset=utf-8;Boundary="a b\\"c"', 'a b"c'],
    ['multipart/form-data; boundary=----WebKitFormBoundaryX1 ', '----WebKitFormBoundaryX1'],
    ["multipart/form-data; boundary='quoted'", "'quoted'"],
    ['multipart/form-data', undefined],
    ['multipart/form-data; boundary=', undefined],
    ['multipart/form-data; boundary=""', undefined],
    ['multipart/form-data; boundary=a; boundary=b', undefined],
    ['multipart/form-data; boundary=a; BOUNDARY=b', undefined],
    ["multipart/form-data; boundary=a; boundary*=utf-8''b", undefined],
    ['multipart/form-data; boundary=a; boundary*0=b', undefined],
    ['multipart/mixed; boundary=a', undefined],
    ['application/json', undefined],
    [`multipart/form-data; boundary=${'x'.repeat(201)}`, undefined],
    ['multipart/form-data; boundary="a "', undefined],
  ] as const) {
    t.equal(multipartBoundary(type), boundary, type)
  }
})

await t.test('forms made by FormData are read exactly', async t => {
  const name = fc.string({ unit: 'grapheme' }).map(text => text.replaceAll('\\', '').toWellFormed())
  const entry = fc.oneof(
    fc.record({ name, text: fc.string() }),
    fc.record({ name, bytes: fc.uint8Array(), filename: name.filter(text => text !== '') }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { maxLength: 5 }), async entries => {
      const data = new FormData()
      for (const item of entries) {
        if ('text' in item) data.append(item.name, item.text)
        else data.append(item.name, new Blob([Buffer.from(item.bytes)], { type: 'image/png' }), item.filename)
      }
      const response = new Response(data)
      const boundary = multipartBoundary(response.headers.get('content-type') ?? '')
      const body = Buffer.from(await response.arrayBuffer())
      const { parts } = scanMultipart(body, boundary ?? '')
      for (const size of [1, 2, 7, 100, 1500]) {
        const scanner = new MultipartScanner(boundary ?? '')
        for (let at = 0; at < body.length; at += size) scanner.push(body.subarray(at, at + size))
        assert.deepEqual(scanner.end().parts, parts)
      }
      assert.equal(parts.length, entries.length)
      for (const [index, item] of entries.entries()) {
        const part = parts[index]
        // Browsers percent-encode quotes and line breaks, and normalise line breaks.
        const plain = !/["\r\n]/.test(item.name)
        if (plain) assert.equal(part?.name, item.name)
        const content = body.subarray(part?.start, part?.end)
        if ('bytes' in item) assert(content.equals(Buffer.from(item.bytes)))
        else if (!/[\r\n]/.test(item.text)) assert.equal(content.toString(), item.text)
        assert.equal(part?.contentType, 'bytes' in item ? 'image/png' : undefined)
      }
    }),
    { numRuns: 300 },
  )
  t.end()
})

await t.test('preamble, epilogue, padding, bare names and empty parts are read by RFC 7578', async t => {
  const body = form(
    'preamble --b',
    '--b \t',
    'content-disposition:form-data;name=model',
    '',
    'gpt-4o --b',
    '--b',
    'Content-Type: audio/wav; x=1',
    'Content-Disposition: form-data; filename="C:\\dir\\a.wav"; name="file"',
    'X-Other: 1',
    '',
    '',
    '--b',
    'Content-Disposition: form-data; name="image[]"; filename="a.png"; filename*=UTF-8\'\'%e2%82%ac.png',
    '',
    '\x00\xff\r\n--',
    '--b--  ',
    'epilogue',
    '--b',
  )
  const result = scanMultipart(body, 'b')
  const contents = result.parts.map(({ start, end, head, ...rest }) => ({
    ...rest,
    head: head.toString('latin1'),
    content: body.toString('latin1', start, end),
  }))
  t.strictSame(contents, [
    { name: 'model', head: 'gpt-4o --b', content: 'gpt-4o --b' },
    { name: 'file', filename: 'C:\\dir\\a.wav', contentType: 'audio/wav; x=1', head: '', content: '' },
    { name: 'image[]', filename: '€.png', head: '\x00\xff\r\n--', content: '\x00\xff\r\n--' },
  ])
  t.equal(result.parts.filter(({ name }) => name === 'image[]').length, 1)
  t.same(scanMultipart(Buffer.from('--b--'), 'b').parts, [])
})

await t.test('a form that is cut anywhere is refused', async t => {
  const body = form(
    '--b',
    field,
    '',
    'value',
    '--b',
    'Content-Disposition: form-data; name="model"',
    '',
    'x',
    '--b--',
  )
  for (let length = 1; length < body.length; length++) {
    const expected = length < 3 ? 'boundary_missing' : 'cut_off'
    t.equal(reasonOf(body.subarray(0, length)), expected, `cut at ${length}`)
  }
  t.equal(reasonOf(body), 'none')
  t.equal(reasonOf(''), 'boundary_missing')
  t.equal(reasonOf(form('--c', field, '', 'x', '--c--')), 'boundary_missing')
})

await t.test('forms that parsers read differently are refused', async t => {
  const part = (header: string) => form('--b', header, '', 'x', '--b--')
  for (const [what, body] of [
    [
      'a boundary after a bare LF',
      Buffer.from(`--b\r\n${field}\r\n\r\nx\n--b\r\n${field}\r\n\r\ny\r\n--b--`),
    ],
    ['a boundary with more text', form('--b', field, '', 'x', '--bb', field, '', 'y', '--b--')],
    ['a boundary line that ends in LF', Buffer.from(`--b\n${field}\r\n\r\nx\r\n--b--`)],
    ['no line break before the boundary', form('--b', field, '', '--b--')],
    ['no headers', form('--b', '', 'x', '--b--')],
    ['no disposition', part('Content-Type: text/plain')],
    ['no name', part('Content-Disposition: form-data; filename="x"')],
    ['another disposition', part('Content-Disposition: attachment; name="a"')],
    ['a name twice', part('Content-Disposition: form-data; name="a"; name="model"')],
    ['an escaped name', part('Content-Disposition: form-data; name="mo\\del"')],
    ['an escaped quote in a name', part('Content-Disposition: form-data; name="a\\""')],
    ['an extended name', part('Content-Disposition: form-data; name="a"; name*=UTF-8\'\'model')],
    ['a name in pieces', part('Content-Disposition: form-data; name="a"; name*0="mo"; name*1="del"')],
    ['a filename in pieces', part(`${field}; filename="x"; filename*0="y"`)],
    [
      'a parameter inside a filename',
      part('Content-Disposition: form-data; name="a"; filename="\\"; name=\\"model"'),
    ],
    ['an open quote', part('Content-Disposition: form-data; name="a')],
    ['two dispositions', part(`${field}\r\n${field}`)],
    ['a folded header', part('Content-Disposition: form-data;\r\n name="a"')],
    ['a bare CR in a header', part('Content-Disposition: form-data; name="a"\rX: 1')],
    ['a header without a colon', part(`${field}\r\nnothing`)],
    ['a transfer encoding', part(`${field}\r\nContent-Transfer-Encoding: quoted-printable`)],
    ['a filename that does not decode', part(`${field}; filename*=UTF-8''%ff`)],
    ['endless headers', form('--b', `${field}; x="${'y'.repeat(20_000)}"`, '', 'x', '--b--')],
  ] as const) {
    t.equal(reasonOf(body), 'malformed', what)
  }
  t.equal(reasonOf(part(`${field}\r\nContent-Transfer-Encoding: Binary`)), 'none')
})

await t.test('the number of parts is bounded', async t => {
  const lines = Array.from({ length: 5 }, () => ['--b', field, '', 'x']).flat()
  t.equal(reasonOf(form(...lines, '--b--'), 4), 'too_many_parts')
  t.equal(reasonOf(form(...lines, '--b--'), 5), 'none')
})

await t.test('long parts that look like boundaries are read the same in long chunks', async t => {
  const piece = fc.constantFrom('\r\n--', '\r\n', '-', 'c', '\n--c', 'x'.repeat(700), '\r\n--a'.repeat(50))
  const content = fc.array(piece, { maxLength: 30 }).map(pieces => pieces.join(''))
  fc.assert(
    fc.property(fc.array(content, { maxLength: 4 }), fc.integer({ min: 1, max: 5000 }), (contents, size) => {
      const body = form(...contents.flatMap(text => ['--b', field, '', text]), '--b--')
      const { parts } = scanMultipart(body, 'b')
      assert.deepEqual(
        parts.map(({ start, end }) => body.toString('latin1', start, end)),
        contents,
      )
      const received: string[] = []
      const scanner = new MultipartScanner('b', {
        onContent: (_part, bytes) => void received.push(bytes.toString('latin1')),
      })
      for (let at = 0; at < body.length; at += size) scanner.push(body.subarray(at, at + size))
      assert.deepEqual(scanner.end().parts, parts)
      assert.equal(received.join(''), contents.join(''))
    }),
    { numRuns: 300 },
  )
  t.end()
})

await t.test('parts of multipart/related need no names, and lines end like the first one', async t => {
  const related = (eol: string, content: string): string =>
    ['--b', 'Content-Type: a/b', '', '{}', '--b', '', content, '--b--', ''].join(eol)
  for (const eol of ['\r\n', '\n']) {
    for (const content of ['', 'x', '\r', 'x\r\n--B', `--b`, '\r\n\r\n']) {
      for (const before of ['', eol]) {
        const body = Buffer.from(before + related(eol, content))
        for (const size of [1, 7, 1000]) {
          const contents: string[] = []
          const scanner = new MultipartScanner('b', {
            isRelated: true,
            onPart: () => contents.push(''),
            onContent: (_part, bytes) => contents.push(String(contents.pop()) + bytes.toString()),
          })
          const isBoundary = content === '--b'
          try {
            for (let at = 0; at < body.length; at += size) scanner.push(body.subarray(at, at + size))
            t.same(
              scanner.end().parts.map(part => part.contentType),
              ['a/b', undefined],
            )
            t.same(contents, ['{}', content])
            t.notOk(isBoundary)
          } catch (error) {
            t.ok(isBoundary, String(error))
          }
        }
      }
    }
  }
  const reason = (body: string, partsMax = 2): string => reasonOf(body, partsMax, true)
  t.equal(
    reason(related('\n', 'x\r\n--b\r\n\r\ny'), 3),
    'malformed',
    'a boundary with another line end after it',
  )
  t.equal(
    reason(related('\r\n', 'x\n--b\r\n\r\ny')),
    'malformed',
    'a boundary with another line end before it',
  )
  t.equal(reason(`x\r\n${related('\r\n', '')}`), 'malformed', 'text before the first boundary')
  t.equal(reason(related('\n', 'x\n--b\n\ny')), 'too_many_parts')
  t.equal(reason(related('\n', 'x').slice(0, -4)), 'cut_off')
  t.equal(reason(related('\n', 'x').replace(': a/b', ': a/b\nContent-Encoding: gzip')), 'malformed')
  t.equal(reasonOf(related('\n', 'x')), 'malformed', 'lines of a form cannot end in LF')
  t.equal(multipartBoundary('multipart/related; boundary=b', true), 'b')
  t.equal(multipartBoundary('text/plain; boundary=b', true), undefined)
})

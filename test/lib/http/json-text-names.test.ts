import t, { type Test } from 'tap'
import { scanJson } from '../../../lib/http/json-scan.ts'
import { scanIn } from '../../fixtures/json-scanning.ts'

const options = { fileIdsAs: 'found' }

/** The distinct ids found in a document. Asserts that they do not depend on how its bytes are cut. */
function idsIn(t: Test, document: string): readonly string[] {
  const body = Buffer.from(document)
  const read = (findings: readonly { raw?: Buffer }[]): readonly string[] => [
    ...new Set(findings.map(({ raw }) => JSON.parse(String(raw)) as string)),
  ]
  const found = read(scanJson(body, {}, options).findings)
  for (const sizes of [[1], [2, 3], [7], [8192]])
    t.same(read(scanIn(sizes, body, {}, options).findings), found, `in pieces of ${sizes.join(', ')}`)
  return found
}

const escaped = (text: string): string =>
  [...text].map(character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')

const rows: readonly (readonly [text: string, ids: readonly string[]])[] = [
  ['fileid://file-fe-a', ['file-fe-a']],
  ['fileid://file-fe-a,fileid://file-fe-b', ['file-fe-a', 'file-fe-b']],
  ['fileid://file-fe-a, file-fe-b,\\n file-fe-c', ['file-fe-a', 'file-fe-b', 'file-fe-c']],
  ['Read FileID://file-fe-a. Then fileid://file-fe-b', ['file-fe-a', 'file-fe-b']],
  ['fileid:\\/\\/file-fe-a,fileid:\\/\\/file-fe-b', ['file-fe-a', 'file-fe-b']],
  [escaped('fileid://file-fe-a'), ['file-fe-a']],
  [`f${escaped('i')}leid:/${escaped('/f')}ile-${escaped('f')}e-a`, ['file-fe-a']],
  [`ffileid://file-fe-a${' x'.repeat(5000)} fileid://file-fe-b`, ['file-fe-a', 'file-fe-b']],
  [`${'fileid://file-fe-a,'.repeat(1000)}file-fe-b`, ['file-fe-a', 'file-fe-b']],
  [`${'https://example.org/ '.repeat(100)}fileid://file-fe-a`, ['file-fe-a']],
  [`fileid://${'a'.repeat(9000)}`, ['a'.repeat(256)]],
  ['fileid:/file-fe-a fileid: //file-fe-b file-fe-c', []],
  ['fileid://, nothing; file-notes', []],
  ['the file\\u00efd://file-fe-a', []],
]

for (const [text, ids] of rows) {
  t.test(`${text.slice(0, 60)} names ${String(ids.length)} files`, t => {
    t.same(idsIn(t, `{"a":[{"b":"${text}"}]}`), ids)
    t.same(idsIn(t, `{"a":"fileid","b":"://x","c":"${text}"}`), ids)
    t.end()
  })
}

t.test('keys name no files, and without the option texts name none either', t => {
  t.same(idsIn(t, '{"fileid://file-fe-a":1}'), [])
  t.same(scanJson(Buffer.from('{"a":"fileid://file-fe-a"}'), {}).findings, [])
  t.end()
})

import t from 'tap'
import { withInclude } from '../../../lib/config/yaml-document.ts'

const cases: readonly (readonly [string, string | undefined])[] = [
  ['include: [a.yaml]\nx: 1\n', 'include: [a.yaml, "p.json"]\nx: 1\n'],
  ['include: [a.yaml, b.yaml] # why\n', 'include: [a.yaml, b.yaml, "p.json"] # why\n'],
  ['include:\n  - a.yaml # why\n\nx: 1\n', 'include:\n  - a.yaml # why\n  - "p.json"\n\nx: 1\n'],
  ['include:\n- "a.yaml"', 'include:\n- "a.yaml"\n- "p.json"'],
  ['# mine\nx: 1', '# mine\nx: 1\ninclude: ["p.json"]\n'],
  ['{ "include": ["a.yaml"], "x": 1 }', '{ "include": ["a.yaml", "p.json"], "x": 1 }'],
  ['include: []\n', undefined],
  ['include: a.yaml\n', undefined],
  ['{ x: 1 }', undefined],
  ['- x', undefined],
  ['x: [', undefined],
]
for (const [text, expected] of cases) {
  await t.test(`adds a file to ${JSON.stringify(text)}, or says that it cannot`, t => {
    t.equal(withInclude(text, 'p.json'), expected)
    t.end()
  })
}

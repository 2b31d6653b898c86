import t from 'tap'
import { parseYaml, withInclude } from '../../../lib/config/yaml-document.ts'

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
  await t.test(`adds a file to ${JSON.stringify(text)}, or returns undefined where it cannot`, t => {
    t.equal(withInclude(text, 'p.json'), expected)
    t.end()
  })
}

const mistakes: readonly (readonly [string, readonly [line: number, message: RegExp][]])[] = [
  ['a: { b: 1\n  c: 2 }', [[1, /single line/]]],
  ['a: { b: [1, 2 }\nd: 1', [[1, /end with a ]/]]],
  ['a: { "b: 1 }', [[1, /closing "quote/]]],
  ['a: [ {b: 1}, {c: 2 ]', [[1, /end with a }/]]],
  ['a: { b: 1 }}\nc: 2', [[1, /Unexpected flow-map-end/]]],
  ['a: {\n\tb: 1\n}', [[2, /end with a }/]]],
  ['a:\n  - b\n c: 1\n  d: 2', [[3, /same column/]]],
  ['a: { - b }', [[1, /not allowed within flow/]]],
  [
    'a: { b: %x, c: `d }\ne: 1\ne: 2',
    [
      [1, /character %/],
      [1, /character `/],
      [3, /^e stands twice/],
    ],
  ],
]
for (const [text, expected] of mistakes) {
  await t.test(`reports each mistake of ${JSON.stringify(text)} once`, t => {
    const { syntaxErrors } = parseYaml(text)

    t.equal(syntaxErrors.length, expected.length)
    for (const [index, [line, message]] of expected.entries()) t.match(syntaxErrors[index], { line, message })
    t.end()
  })
}

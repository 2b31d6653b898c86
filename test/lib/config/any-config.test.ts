import fc from 'fast-check'
import t from 'tap'
import { configSchema } from '../../../lib/config/schema.ts'
import { problemsOf } from './config-files.ts'

const words = [
  'sandbox',
  'openai',
  'auth',
  'alias',
  'provider',
  'prices',
  '__proto__',
  'constructor',
  'a*',
  '${X}',
  'sqlite:x',
  '',
]
const key = fc.oneof(
  fc.constantFrom(...words, 'listen', 'credentials', 'dialects', 'rubPerMillion', 'above', 'from'),
  fc.string(),
)
const { value } = fc.letrec<{ value: unknown }>(tie => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<unknown>(...words, null, true, 0, -1, 1.5, 8080, '5MB', '1.5', '2026-01-01'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(key, tie('value'), { maxKeys: 4 }),
  ),
}))
const names = Object.keys(configSchema.shape).filter(name => name !== 'include')
const config = fc.dictionary(fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...names) }, key), value, {
  maxKeys: 6,
})

await t.test('any file is accepted, or each of its problems has a file and a message', async t => {
  const folder = t.testdir()

  fc.assert(
    fc.property(config, document => {
      // JSON is YAML. problemsOf rethrows every error but ConfigError.
      const problems = problemsOf(folder, { 'gateway.yaml': JSON.stringify(document) }, { env: {} })
      return problems.every(problem => problem.file.startsWith(folder) && problem.message !== '')
    }),
    { numRuns: 500 },
  )
  t.pass()
})

import t, { type Test } from 'tap'
import { runHere, writeConfig, type Finished } from './run-gateway.ts'

/** Added to the small configuration's `sandbox-chat`. */
const more = `include: [more.yaml]
limits: { bodyMs: never }
`
const moreModels = `
models:
  "sandbox-20*": { provider: sandbox, rubPerMillion: { input: "1", output: "1" } }
  sandbox/own: { provider: sandbox, rubPerMillion: { input: "1", output: "1" } }
  fast: { alias: sandbox-chat }
  free: { provider: sandbox }
`

interface Started {
  readonly config: string
  readonly create: (...words: readonly string[]) => Promise<Finished>
  /** The model lists of the account's keys. */
  readonly lists: () => Promise<readonly unknown[]>
}

async function start(t: Test): Promise<Started> {
  const folder = t.testdir({ 'more.yaml': moreModels })
  // A mistake elsewhere in the settings does not prevent making a key.
  const { config } = writeConfig(folder, more)
  const run = (...words: readonly string[]) => runHere([...words, '--config', config])
  const made = await run('account', 'create', '--email', 'a@b.ru', '--json')
  const { id } = JSON.parse(made.stdout) as { id: string }
  return {
    config,
    create: (...words) => run('key', 'create', '--account', id, ...words),
    async lists() {
      const { stdout } = await run('key', 'list', '--account', id, '--json')
      const lines = stdout.split('\n').filter(line => line !== '')
      return lines.map(line => (JSON.parse(line) as { models: unknown }).models)
    },
  }
}

const known: readonly (readonly [what: string, name: string])[] = [
  ['a model', 'sandbox-chat'],
  ['an alias', 'fast'],
  ['a name that a pattern covers', 'sandbox-2099'],
  ['a model without a price', 'free'],
  ['a model of a provider', 'sandbox/own'],
  ["a model by its name below its provider's path", 'own'],
  ['a prefix of models', 'sandbox-c*'],
  ['a prefix of aliases', 'fa*'],
  ['a prefix of models below their path', 'ow*'],
  ['a prefix of names that a pattern covers', 'sandbox-2*'],
  ['a prefix that a pattern covers', 'sandbox-2031-*'],
  ['everything', '*'],
]

await t.test('a key may be limited to every kind of name of a model', async t => {
  const { create, lists } = await start(t)
  const names = known.map(([, name]) => name)
  t.match(await create('--models', names.join(',')), { code: 0, stderr: '' })
  t.same(await lists(), [names])
})

const unknown: readonly (readonly [name: string, hint: string])[] = [
  ['sandbox-chta', '; did you mean "sandbox-chat"?'],
  ['Fast', '; did you mean "fast"?'],
  ['sandbox-hcat*', '; did you mean "sandbox-chat*"?'],
  ['sndbox*', '; did you mean "sandbox*"?'],
  ['entirely-different', ''],
  ['entirely-different*', ''],
]

await t.test('an unknown model name is reported with the nearest one, and no key is made', async t => {
  const { config, create, lists } = await start(t)
  for (const [name, hint] of unknown) {
    const { code, stdout, stderr } = await create('--models', `sandbox-chat,${name}`)
    t.same({ code, stdout }, { code: 1, stdout: '' }, name)
    t.equal(stderr.split('\n')[0], `gateway: ${config} has no model "${name}"${hint}`)
    t.match(stderr, /gateway models lists them.*--allow-unknown-models/)
  }
  const both = await create('--models', 'sandbox-chta,entirely-different')
  t.match(both.stderr, /"sandbox-chta".*\n.*"entirely-different"\n/)
  t.same(await lists(), [])
})

await t.test('a model that does not exist yet can be allowed', async t => {
  const { create, lists } = await start(t)
  const made = await create('--models', 'sandbox-chat,entirely-different*', '--allow-unknown-models')
  t.match(made, { code: 0, stderr: '' })
  t.same(await lists(), [['sandbox-chat', 'entirely-different*']])
})

await t.test('mistakes among the models are reported when a name is checked against them', async t => {
  const folder = t.testdir({ 'more.yaml': 'models: { slow: { alias: nowhere } }\n' })
  const { config } = writeConfig(folder, 'include: [more.yaml]\n')
  const { code, stderr } = await runHere([
    'key',
    'create',
    '--account',
    'x',
    '--models',
    'a',
    '--config',
    config,
  ])
  t.equal(code, 1)
  t.match(stderr, /more\.yaml:1:\d+ models\.slow\.alias: unknown model "nowhere"/)
})

import t, { type Test } from 'tap'
import { runHere, writeConfig, type Finished } from './run-gateway.ts'

/** Beside the small configuration's `sandbox-chat`. */
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
  /** What the keys of the account may use. */
  readonly lists: () => Promise<readonly unknown[]>
}

async function start(t: Test): Promise<Started> {
  const folder = t.testdir({ 'more.yaml': moreModels })
  // A slip elsewhere in the settings is no reason to make no key.
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
  ['a beginning of models', 'sandbox-c*'],
  ['a beginning of aliases', 'fa*'],
  ['a beginning of models below their path', 'ow*'],
  ['a beginning of what a pattern covers', 'sandbox-2*'],
  ['a beginning that a pattern covers', 'sandbox-2031-*'],
  ['everything', '*'],
]

await t.test('a key may be limited to whatever can stand for a model', async t => {
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

await t.test('a name that stands for no model is told with the nearest one, and no key is made', async t => {
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

await t.test('a model that is still to come can be meant', async t => {
  const { create, lists } = await start(t)
  const made = await create('--models', 'sandbox-chat,entirely-different*', '--allow-unknown-models')
  t.match(made, { code: 0, stderr: '' })
  t.same(await lists(), [['sandbox-chat', 'entirely-different*']])
})

await t.test(
  'what is wrong among the models themselves is told, once a name is to be found there',
  async t => {
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
  },
)

import t from 'tap'
import { plugins } from '../../../plugins/index.ts'
import { loadFiles, problemsOf } from './config-files.ts'

await t.test('plugins keep the order of the list, without the disabled ones', async t => {
  const { config } = loadFiles(t.testdir(), {
    'gateway.yaml':
      'plugins: [usage-tap, { auth: { enabled: false } }, { model-router: }, { size-limit: { enabled: true } }]',
  })

  t.same(
    config.plugins.map(plugin => plugin.name),
    ['usage-tap', 'model-router', 'size-limit'],
  )
  t.match(config.plugins[2]?.options, { anthropic: { imagesMax: 100, imageBytesMax: 5_242_880 } })
  t.notOk('enabled' in (config.plugins[2]?.options ?? {}))
})

await t.test('validated options pass the schema again, unchanged', async t => {
  const { config } = loadFiles(t.testdir(), {
    'gateway.yaml': 'plugins: [{ size-limit: { openai: { requestBytesMax: 1MB } } }]',
  })
  const [sizeLimit] = config.plugins

  t.same(plugins['size-limit']?.options?.parse(sizeLimit?.options), sizeLimit?.options)
})

await t.test(
  'an external plugin is named by a path relative to its config file, or by its package',
  async t => {
    const { config } = loadFiles(t.testdir(), {
      'gateway.yaml': 'include: [more/plugins.yaml]',
      'more/plugins.yaml': 'plugins: [auth, { ./own.ts: { words: [a] } }, "@acme/guard"]',
      'more/own.ts': 'export const own = {}',
      'node_modules/@acme/guard/package.json': '{ "exports": "./guard.js" }',
      'node_modules/@acme/guard/guard.js': '',
    })

    const [auth, own, guard] = config.plugins
    t.equal(auth?.external, undefined)
    t.match(own, {
      name: './own.ts',
      options: { words: ['a'] },
      external: { address: /^file:.*more\/own\.ts\?version=/ },
    })
    t.match(guard, { name: '@acme/guard', options: {}, external: { address: /guard\.js\?version=/ } })
  },
)

await t.test('a missing plugin is a problem of the list, with the nearest shipped name', async t => {
  const problems = problemsOf(t.testdir(), {
    'gateway.yaml': 'plugins: [auht, ./own.ts, "@acme/guard"]',
  })

  t.match(problems, [
    { path: 'plugins[0]', message: /unknown plugin "auht"/, nearest: 'auth' },
    { path: 'plugins[1]', message: /there is no file .*own\.ts/ },
    { path: 'plugins[2]', message: /the package "@acme\/guard" is not installed beside / },
  ])
})

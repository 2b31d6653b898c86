import t from 'tap'
import { shippedPlugins } from '../../../lib/config/build-plugins.ts'
import { plugins } from '../../../plugins/index.ts'
import { loadFiles } from './config-files.ts'

await t.test('the config knows the plugins that there are, with the schemas of their options', async t => {
  t.same(Object.keys(shippedPlugins).sort(), Object.keys(plugins).sort())
  for (const [name, { options }] of Object.entries(plugins)) {
    t.equal(shippedPlugins[name]?.options, options, name)
  }
})

await t.test('plugins keep the order of the list, and those switched off are gone', async t => {
  const { config } = loadFiles(t.testdir(), {
    'gateway.yaml': 'plugins: [usage-tap, { auth: { enabled: false } }, { model-router: }, { size-limit: { enabled: true } }]',
  })

  t.same(
    config.plugins.map(plugin => plugin.name),
    ['usage-tap', 'model-router', 'size-limit'],
  )
  t.match(config.plugins[2]?.options, { anthropic: { imagesMax: 100, imageBytesMax: 5_242_880 } })
  t.notOk('enabled' in (config.plugins[2]?.options ?? {}))
})

await t.test('options that have passed the schema pass it again, unchanged', async t => {
  const { config } = loadFiles(t.testdir(), {
    'gateway.yaml': 'plugins: [{ size-limit: { openai: { requestBytesMax: 1MB } } }]',
  })
  const [sizeLimit] = config.plugins

  t.same(plugins['size-limit']?.options?.parse(sizeLimit?.options), sizeLimit?.options)
})

await t.test('another list of plugins can be given', async t => {
  const yaml = { 'gateway.yaml': 'plugins: [mine]' }

  t.match(loadFiles(t.testdir(), yaml, { env: {}, plugins: { mine: {} } }).config.plugins, [{ name: 'mine' }])
})

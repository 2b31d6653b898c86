import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { shippedConfig } from '../../lib/config/environment.ts'
import { runGateway, runHere } from './run-gateway.ts'

await t.test(
  'init writes a valid configuration that includes the shipped one, and never overwrites it',
  async t => {
    const file = join(t.testdir(), 'mine', 'gateway.yaml')

    const made = await runHere(['init', file])
    const checked = await runHere(['check', '--config', file])
    const again = await runHere(['init', file])

    t.equal(made.code, 0, made.stderr)
    t.match(made.stdout, `gateway serve --config ${file}`)
    t.equal(checked.code, 0, checked.stdout)
    t.match(checked.stdout, `store      ${join(file, '../data/gateway.db')}`)
    t.match(checked.stdout, `  overrides  store of ${shippedConfig()}`)
    t.match(again, { code: 1, stderr: `gateway: ${file} is there already, and is not overwritten\n` })
  },
)

await t.test('a folder that cannot be created is reported at once', async t => {
  const { code, stderr } = await runGateway(['init', '/proc/none/gateway.yaml'], { timeout: 20_000 })

  t.equal(code, 1)
  t.match(stderr, /^gateway: \/proc\/none\/gateway\.yaml cannot be written: there is no such file or folder/)
})

await t.test('every commented line of it works when uncommented', async t => {
  const file = join(t.testdir(), 'gateway.yaml')
  await runHere(['init', file])
  const text = readFileSync(file, 'utf8')
  writeFileSync(
    file,
    text.replaceAll(/^# (?=publicUrl|listen|providers|prices|models| {2}(?:local|gpt))/gm, ''),
  )

  const { code, stdout } = await runHere(['check', '--config', file, '--json'])

  t.equal(code, 0, stdout)
  const { overridden } = JSON.parse(stdout) as { overridden: { path: string }[] }
  t.same(
    overridden.map(({ path }) => path),
    ['store', 'listen.host', 'listen.port', 'prices.coefficient', 'models.gpt-4'],
  )
})

await t.test('unmetered together with the plugin that charges is refused as a mistake', async t => {
  const file = join(t.testdir(), 'gateway.yaml')
  await runHere(['init', file])
  writeFileSync(file, `${readFileSync(file, 'utf8')}\nunmetered: true\n`)

  const { code, stdout } = await runHere(['check', '--config', file])

  t.equal(code, 1)
  t.match(stdout, 'unmetered: is true and the plugin usage-tap is on: nothing would be charged')
})

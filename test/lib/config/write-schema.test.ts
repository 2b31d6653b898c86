import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { configJsonSchema } from '../../../lib/config/write-schema.ts'

const folder = join(import.meta.dirname, '../../../config')

await t.test('the schema in config/ equals that of the code; npm run schema writes it', async t => {
  const written = readFileSync(join(folder, 'gateway.schema.json'), 'utf8')

  t.equal(written, configJsonSchema())
})

await t.test('the schema has the full list of top-level keys', async t => {
  const schema = JSON.parse(configJsonSchema()) as { properties: object; additionalProperties: boolean }

  t.same(Object.keys(schema.properties).sort(), [
    'accountArea',
    'admin',
    'alarms',
    'cors',
    'defaultProvider',
    'dns',
    'durability',
    'egress',
    'hold',
    'include',
    'isolation',
    'limits',
    'listen',
    'log',
    'models',
    'operatorArea',
    'payments',
    'plugins',
    'prices',
    'providers',
    'publicUrl',
    'seller',
    'startingCredit',
    'store',
    'timeZone',
    'tls',
    'trustedProxies',
    'unmetered',
    'uploads',
    'workers',
  ])
  t.equal(schema.additionalProperties, false)
})

await t.test('the shipped files name the schema and show every key', async t => {
  for (const name of ['gateway.yaml', 'providers.yaml', 'models.yaml']) {
    t.match(
      readFileSync(join(folder, name), 'utf8'),
      /^# yaml-language-server: \$schema=gateway\.schema\.json\n/,
    )
  }
  const shown = Object.keys(parse(readFileSync(join(folder, 'gateway.yaml'), 'utf8')) as object)
  t.ok(['listen', 'admin', 'store', 'limits', 'hold', 'plugins'].every(key => shown.includes(key)))
})

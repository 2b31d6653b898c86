import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { exportBreaches } from './tidy/export-rules.ts'
import { folderBreaches } from './tidy/folder-rules.ts'
import { importBreaches } from './tidy/import-rules.ts'
import { readDocs, readSources } from './tidy/sources.ts'
import { docBreaches, nameBreaches, sizeBreaches, wordingBreaches } from './tidy/text-rules.ts'

const root = join(import.meta.dirname, '..')
const sources = readSources(root)

await t.test('the rules read the whole source', async t => {
  for (const folder of ['bin', 'lib', 'plugins', 'test']) {
    t.ok(
      sources.some(source => source.path.startsWith(`${folder}/`)),
      `${folder} has files`,
    )
  }
})

await t.test('imports point one way, and each package has one door', async t => {
  t.same(importBreaches(sources), [])
})

await t.test('folders of lib do not import each other, types included', async t => {
  t.same(folderBreaches(sources), [])
})

await t.test('every export is used in another file', async t => {
  t.same(exportBreaches(sources), [])
})

await t.test('files and functions are short', async t => {
  t.same(sizeBreaches(sources), [])
})

await t.test('nothing is left for later, loosely typed or hidden', async t => {
  t.same(wordingBreaches(sources), [])
})

await t.test('files are named for their content', async t => {
  t.same(nameBreaches(sources), [])
})

await t.test('every path in the docs exists', async t => {
  t.same(docBreaches(root, readDocs(root)), [])
})

await t.test('the architecture page describes every folder of lib and every plugin', async t => {
  const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
  const folders = readdirSync(join(root, 'lib'), { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(entry => `lib/${entry.name}/`)
  const plugins = readdirSync(join(root, 'plugins')).map(name => `plugins/${name}`)

  t.same(
    [...folders, ...plugins].filter(path => !page.includes(path)),
    [],
  )
})

await t.test('every script in the docs is in package.json', async t => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object }
  const named = readDocs(root).flatMap(doc =>
    [...doc.text.matchAll(/npm run ([\w:-]+)/g)].map(match => match[1] ?? ''),
  )

  t.ok(named.length > 0)
  t.same(
    named.filter(name => !(name in scripts)),
    [],
  )
})

await t.test('each rule reports its violations', async t => {
  const later = 'TO-DO'.replace('-', '')
  const bad = t.testdir({
    'tsconfig.json': JSON.stringify({
      compilerOptions: { module: 'nodenext', noEmit: true, allowImportingTsExtensions: true, types: [] },
      include: ['bin', 'lib', 'plugins'],
    }),
    bin: { 'gateway.ts': 'console.log(1)\nprocess.exit(0)\n' },
    plugins: {
      'auth.ts': "import './size-limit.ts'\nexport default 1\n",
      'size-limit.ts': "import { Pool } from 'undici'\nexport const pool = Pool\n",
    },
    lib: {
      platform: { 'clock.ts': 'export const now = () => Date.now() + Number(new Date(7))\n' },
      'utils.ts': `export const later = 1 // ${later}: do it\n`,
      'Camel.ts': 'export const env = process.env\nconsole.error(env)\n',
      http: {
        'scan.ts':
          "import 'node:fs'\nimport 'left-pad'\nimport '../platform/clock.ts'\nimport '../pipeline/errors.ts'\n",
      },
      pipeline: {
        'errors.ts': 'export const one: any = Date.now() + Number(new Date())\n',
        'index.ts': "import '../platform/clock.ts'\nimport type {} from '../../plugins/auth.ts'\n",
        'quiet.ts': 'try { one() } catch {}\nvoid Promise.reject(1).catch(() => {})\nfunction one() {}\n',
      },
      left: { 'hand.ts': "import type { Foot } from '../right/foot.ts'\nexport type Hand = Foot\n" },
      right: { 'foot.ts': "import type { Hand } from '../left/hand.ts'\nexport type Foot = Hand\n" },
      metering: { 'tell.ts': "declare const providerKind: string\nvoid (providerKind === 'xai')\n" },
      stores: { 'long.ts': `export function long() {\n${'  void 0\n'.repeat(300)}}\n` },
    },
  })
  const found = readSources(bad)

  t.same(importBreaches(found), [
    'lib/http/scan.ts:1 imports node:fs, but lib/dialects, lib/money and lib/http do no input and output.',
    'lib/http/scan.ts:2 imports left-pad, but left-pad has no door in test/tidy/import-rules.ts.',
    'lib/http/scan.ts:3 imports lib/platform/clock.ts, but lib/dialects, lib/money, lib/http and lib/providers import only each other and lib/pipeline/errors.ts.',
    'lib/pipeline/index.ts:1 imports lib/platform/clock.ts, but lib/pipeline imports nothing else of lib.',
    'lib/pipeline/index.ts:2 imports plugins/auth.ts, but lib imports nothing from outside lib.',
    'lib/pipeline/index.ts:2 imports plugins/auth.ts, but lib/pipeline imports nothing else of lib.',
    'plugins/auth.ts:1 imports plugins/size-limit.ts, but plugins import lib and never each other.',
    'plugins/size-limit.ts:1 imports undici, but undici is imported in lib/upstream/ and lib/payments/yookassa/ only.',
  ])
  t.same(folderBreaches(found), [
    'lib/left, lib/right import each other; move what both need below them: lib/left/hand.ts:1 imports lib/right/foot.ts, lib/right/foot.ts:1 imports lib/left/hand.ts.',
  ])
  t.same(exportBreaches(found).slice(0, 2), [
    'lib/Camel.ts exports env, which no other file uses.',
    'lib/pipeline/errors.ts exports one, which no other file uses.',
  ])
  t.same(sizeBreaches(found), [
    'lib/stores/long.ts has 302 lines; the limit is 300.',
    'lib/stores/long.ts:1 is a function of 302 lines; the limit is 60.',
  ])
  t.same(wordingBreaches(found), [
    'lib/Camel.ts:1 uses process.env, which is for lib/config/ and benchmarks/ only.',
    'lib/Camel.ts:2 uses console.error, which is for bin/ only.',
    'lib/metering/tell.ts:2 knows a provider by its name; say what it does in lib/providers/.',
    'lib/pipeline/errors.ts:1 says any; say what it is, or unknown.',
    'lib/pipeline/errors.ts:1 uses Date.now, which is for lib/platform/clock.ts only.',
    'lib/pipeline/errors.ts:1 uses new Date(), which is for lib/platform/clock.ts only.',
    'lib/pipeline/quiet.ts:1 swallows an error.',
    'lib/pipeline/quiet.ts:2 swallows an error.',
    `lib/utils.ts:1 says ${later}; do it, or open an issue.`,
    'plugins/auth.ts:2 exports a default; exports have names.',
  ])
  t.same(nameBreaches(found), [
    'lib/Camel.ts is not named in kebab-case.',
    'lib/pipeline/index.ts is called index; only plugins/index.ts is.',
    'lib/utils.ts has a part called utils; name it for its idea.',
  ])
  t.same(
    docBreaches(bad, [
      { path: 'README.md', text: 'See `lib/platform/clock.ts`, `lib/gone.ts` and `npm test`.' },
    ]),
    ['README.md names lib/gone.ts, which does not exist.'],
  )
})

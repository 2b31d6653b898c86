import { join } from 'node:path'
import t from 'tap'
import { runHere, writeConfig } from './run-gateway.ts'

const folder = t.testdir()
const { config } = writeConfig(folder)
const run = (...words: string[]) => runHere([...words, '--config', config])
const created = await run('account', 'create', '--email', 'ivan@example.org', '--json')
const { id: account } = JSON.parse(created.stdout) as { id: string }

const empty: readonly (readonly [words: string[], name: string])[] = [
  [['account', 'show', ''], '<account>'],
  [['account', 'company', ''], '<account>'],
  [['account', 'create', '--email', ''], '--email'],
  [['account', 'company', account, '--set', ''], '--set'],
  [['account', 'block', account, '--reason', ''], '--reason'],
  [['balance', '--account', ''], '--account'],
  [['charges', '--account', ''], '--account'],
  [['charges', '--key', ''], '--key'],
  [['charges', '--request', ''], '--request'],
  [['key', 'create', '--account', ''], '--account'],
  [['key', 'create', '--account', account, '--models', ''], '--models'],
  [['key', 'list', '--account', ''], '--account'],
  [['key', 'revoke', ''], '<key>'],
  [['requests', 'find', ''], '<id>'],
  [['payment', 'list', '--account', ''], '--account'],
  [['invoice', 'list', '--account', ''], '--account'],
  [['documents', 'list', '--account', ''], '--account'],
  [['documents', 'export', '--month', '2026-10', '--out', ''], '--out'],
  [['operator', 'log', '--account', ''], '--account'],
  [['operator', 'log', '--operator', ''], '--operator'],
  [['operator', 'log', '--action', ''], '--action'],
  [['prices', 'import', '--from', ''], '--from'],
  [['prices', 'rate', '--accept', ''], '--accept'],
  [['alarms', 'take', ''], '<alarm>'],
  [['backup', ''], '<file>'],
]

for (const [words, name] of empty) {
  await t.test(`an empty argument, as of an unset variable, is named: ${words.join(' ')}`, async t => {
    t.same(await run(...words), {
      code: 2,
      stdout: '',
      stderr: `gateway: ${name}: is empty: give it a value\n`,
    })
  })
}

await t.test('an empty --config is refused', async t => {
  const { code, stderr } = await runHere(['balance', '--account', account, '--config', ''])

  t.same([code, stderr], [2, 'gateway: --config: is empty: give it a value\n'])
})

await t.test('a name may be empty', async t => {
  const made = await run('key', 'create', '--account', account, '--name', '', '--json')

  t.equal(made.code, 0)
})

const ofAccount: readonly string[][] = [
  ['account', 'show', 'no-such'],
  ['account', 'entries', 'no-such'],
  ['account', 'notes', 'no-such'],
  ['account', 'company', 'no-such'],
  ['balance', '--account', 'no-such'],
  ['charges', '--account', 'no-such'],
  ['key', 'list', '--account', 'no-such'],
  ['payment', 'list', '--account', 'no-such'],
  ['invoice', 'list', '--account', 'no-such'],
  ['documents', 'list', '--account', 'no-such'],
  ['operator', 'log', '--account', 'no-such'],
]

for (const words of ofAccount) {
  await t.test(`an unknown account is an error, not an empty list: ${words.join(' ')}`, async t => {
    t.same(await run(...words), {
      code: 1,
      stdout: '',
      stderr: 'gateway: there is no account no-such: gateway account list shows them all\n',
    })
  })
}

await t.test('an unknown key is an error, not an empty list of charges', async t => {
  t.same(await run('charges', '--key', 'no-such'), {
    code: 1,
    stdout: '',
    stderr: 'gateway: there is no key no-such: gateway key list --all shows them\n',
  })
})

await t.test('an error does not repeat the value of a key, which terminals and logs would store', async t => {
  const made = await run('key', 'create', '--account', account, '--json')
  const { key } = JSON.parse(made.stdout) as { key: string }

  for (const words of [['key', 'revoke', key], ['account', 'show', key], [key], ['check', key]]) {
    const { code, stdout, stderr } = await run(...words)

    t.not(code, 0)
    t.notMatch(stdout + stderr, key)
  }
  t.match((await run('key', 'revoke', key)).stderr, `there is no key gw-…${key.slice(-4)}: `)
})

await t.test('an error does not repeat a long argument in full', async t => {
  const long = 'x'.repeat(100_000)

  for (const words of [
    ['account', 'show', long],
    [long],
    ['top', '--by', long],
    ['backup', join(folder, long)],
  ]) {
    const { code, stderr } = await run(...words)

    t.not(code, 0)
    t.ok(stderr.length < 1000, `${stderr.length} characters`)
    t.match(stderr, /…\(10\d{4} characters\)/)
    t.notMatch(stderr, /\n {4}at /)
  }
})

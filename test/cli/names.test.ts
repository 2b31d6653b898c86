import t from 'tap'
import { runHere, writeConfig } from './run-gateway.ts'

const { config } = writeConfig(t.testdir())
const run = (...words: string[]) => runHere([...words, '--config', config])

const made = await run('account', 'create', '--email', 'a@b.ru', '--name', '  ООО «Ромашка»  ', '--json')
const account = (JSON.parse(made.stdout) as { id: string }).id
const reasoned = ['--reason', 'asked for']
const key = JSON.parse((await run('key', 'create', '--account', account, '--json')).stdout) as { id: string }

/** Options that name or explain something, and the most characters that the operators' pages accept there. */
const places = [
  { words: ['account', 'create', '--email', 'c@d.ru'], option: '--name', max: 200 },
  { words: ['key', 'create', '--account', account], option: '--name', max: 200 },
  {
    words: ['key', 'create', '--account', account, '--allow-unknown-models'],
    option: '--models',
    max: 200,
  },
  { words: ['key', 'edit', key.id, ...reasoned], option: '--name', max: 200 },
  { words: ['operator', 'add', '--email', 'o@p.ru', '--role', 'support'], option: '--name', max: 200 },
  {
    words: ['account', 'credit', account, '--rub', '1', ...reasoned],
    option: '--idempotency-key',
    max: 200,
  },
  { words: ['account', 'credit', account, '--rub', '1'], option: '--reason', max: 1000 },
  { words: ['payment', 'refund', 'none', '--rub', '1'], option: '--reason', max: 128 },
  { words: ['statement', 'return', 'none'], option: '--note', max: 500 },
] as const

for (const { words, option, max } of places) {
  const what = `${words.slice(0, 2).join(' ')} ${option}`
  await t.test(`${what} accepts the same as the operators' pages`, async t => {
    const long = await run(...words, option, 'x'.repeat(max + 1))
    const unseen = await run(...words, option, 'a\u001B[31mb')
    const turned = await run(...words, option, 'a\u202Eb')
    const fits = await run(...words, option, 'x'.repeat(max))

    t.equal(long.code, 2)
    t.match(long.stderr, `${option}: takes at most ${max} characters, and has ${max + 1}`)
    for (const { code, stderr } of [unseen, turned]) {
      t.equal(code, 2)
      t.match(stderr, `${option}: contains a control character: remove it`)
    }
    t.notMatch(fits.stderr, option, 'the most characters are not refused')
  })
}

await t.test('a name is stored without the spaces around it', async t => {
  const { stdout } = await run('account', 'show', account, '--json')

  t.match(JSON.parse(stdout), { name: 'ООО «Ромашка»' })
})

await t.test('a key is limited to at most as many models and addresses as its page can show', async t => {
  const models = Array.from({ length: 101 }, (_, index) => `model-${index}`).join()
  const addresses = Array.from({ length: 101 }, (_, index) => `10.0.0.${index}`).join()

  for (const [option, text] of [
    ['--models', models],
    ['--ips', addresses],
  ] as const) {
    const { code, stderr } = await run('key', 'create', '--account', account, option, text)
    t.equal(code, 2)
    t.match(stderr, `${option}: takes at most 100 names, and has 101`)
  }
})

await t.test('an idempotency key is not empty', async t => {
  const words = ['account', 'credit', account, '--rub', '1', ...reasoned, '--idempotency-key', ' ']
  const { code, stderr } = await run(...words)

  t.equal(code, 2)
  t.match(stderr, '--idempotency-key: is empty')
})

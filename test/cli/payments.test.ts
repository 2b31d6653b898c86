import t from 'tap'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'
import { runHere } from './run-gateway.ts'

function parsed(text: string): Readonly<Partial<Record<string, string>>> {
  return JSON.parse(text) as Record<string, string>
}

await t.test('an operator makes a payment link, sees it paid, refunds it and compares', async t => {
  const test = await startTestGateway(t, {
    config: { providers: { sandbox: {} }, payments: { provider: 'sandbox' } },
    rub: 1,
  })
  const { accountId, configFile } = test
  const run = (...words: string[]) => runHere([...words, '--config', configFile])

  const created = await run('payment', 'create', '--account', accountId, '--rub', '1500', '--json')
  t.match(created, { code: 0, stderr: '' })
  const { id = '', confirmationUrl = '', status } = parsed(created.stdout)
  t.equal(status, 'pending')
  await fetch(confirmationUrl, {
    method: 'POST',
    body: new URLSearchParams({ pay: 'bank_card' }),
    redirect: 'manual',
  })
  await run('payment', 'reconcile')
  await until(
    async () => parsed((await run('payment', 'show', id, '--json')).stdout)['status'] === 'succeeded',
  )

  t.match(
    parsed((await run('payment', 'list', '--account', accountId, '--state', 'succeeded', '--json')).stdout),
    {
      id,
      account: accountId,
      amount: '1500.000000',
      refunded: '0.000000',
    },
  )
  t.match(parsed((await run('balance', '--account', accountId, '--json')).stdout), { balance: '1501.000000' })
  const refund = await run('payment', 'refund', id, '--rub', '500', '--reason', 'on request', '--json')
  t.match(JSON.parse(refund.stdout), {
    id,
    status: 'succeeded',
    refunded: '500.000000',
    refund: { status: 'succeeded', amount: '500.000000' },
  })
  t.match(parsed((await run('balance', '--account', accountId, '--json')).stdout), { balance: '1001.000000' })
  t.match(await run('payment', 'reconcile', '--json'), { code: 0, stdout: '' })
  t.match(await run('payment', 'reconcile'), { code: 0, stdout: '1 payment compared, 0 credited now\n' })

  for (const [words, message] of [
    [
      ['payment', 'refund', id, '--rub', '1000.01', '--reason', 'r'],
      /1000.00 roubles of the payment .* are not spent/,
    ],
    [['payment', 'refund', 'x', '--rub', '1', '--reason', 'r'], /there is no paid payment x/],
    [['payment', 'create', '--account', accountId, '--rub', '1'], /from 100.00 to 350000.00 roubles/],
    [['payment', 'create', '--account', 'x', '--rub', '500'], /there is no account x/],
    [['payment', 'show', 'x'], /there is no payment x/],
  ] as const)
    t.match(await run(...words), { code: 1, stderr: message })
  await run('account', 'debit', accountId, '--rub', '1001', '--reason', 'sent back')
  t.match(await run('account', 'delete', accountId, '--reason', 'asked for it'), { code: 0 })
  t.match(await run('payment', 'create', '--account', accountId, '--rub', '500'), {
    code: 1,
    stderr: /the account .* was deleted: nobody could use the money/,
  })
  t.match(await run('payment', 'list', '--state', 'paid'), { code: 2, stderr: /none of created, pending/ })
  t.strictSame(await test.breaches(), [])
})

import t from 'tap'
import type { NewJob } from '../../../../lib/ledger/job.ts'
import { newId } from '../../../../lib/platform/new-id.ts'
import type { PostgresOperation } from '../../../../lib/stores/postgres/postgres-operation.ts'
import { accountWith, chargeOf, holdOf, roubles, testPrice } from '../../../contracts/store-under-test.ts'
import { inDatabase } from '../../../fixtures/in-database.ts'
import { startPostgres } from '../../../fixtures/postgres-server.ts'
import { openNode } from './open-postgres.ts'

const server = await startPostgres(t)

function batch(): NewJob {
  return {
    provider: 'openai',
    kind: 'batch',
    id: `batch_${newId()}`,
    credential: 'openai#1',
    dialect: 'openai',
    operation: 'batch',
    model: 'm',
    facts: { upstreamModel: 'm', priceVersions: { '': testPrice.hash } },
    nextPollAt: 0,
    deadlineAt: 9_000_000_000_000,
  }
}

await t.test('of several nodes that find the end of a job at once, one charges it', async t => {
  const url = await server.createDatabase()
  const nodes = [await openNode(t, url), await openNode(t, url), await openNode(t, url)]
  const [first] = nodes
  if (first === undefined) throw new Error('there is no node')
  const account = await accountWith(first, 100)
  for (let round = 0; round < 10; round += 1) {
    const name = batch()
    await first.ledger.openJob(await holdOf(first, account, 5), name)
    const endings = await Promise.all(
      nodes.map(async ({ ledger }) => {
        const job = await ledger.findJob(name)
        return job && ledger.chargeJob(job, chargeOf({ input: 3 }))
      }),
    )
    t.equal(endings.filter(ending => ending !== undefined).length, 1)
  }
  t.match(await first.ledger.balance(account), {
    balanceMicros: roubles(70),
    heldMicros: 0,
    availableMicros: roubles(70),
  })
  t.equal((await first.charges(account)).length, 10)
  t.strictSame(await first.verify(), [])
})

await t.test('due jobs are divided among the nodes that poll', async t => {
  const url = await server.createDatabase()
  const nodes = [await openNode(t, url), await openNode(t, url), await openNode(t, url)]
  const [first] = nodes
  if (first === undefined) throw new Error('there is no node')
  const account = await accountWith(first, 100)
  const jobs = Array.from({ length: 30 }, batch)
  await Promise.all(jobs.map(async job => first.ledger.openJob(await holdOf(first, account, 1), job)))
  const polls = await Promise.all(
    [...nodes, ...nodes, ...nodes, ...nodes].map(({ ledger }) => ledger.dueJobs(5, 60_000)),
  )
  const acquired = polls.flat().map(({ id }) => id)
  t.equal(new Set(acquired).size, acquired.length, 'no job is acquired twice')
  // Jobs locked by another node were skipped, and are returned by the next poll.
  const rest = await first.ledger.dueJobs(30, 60_000)
  t.same(new Set([...acquired, ...rest.map(({ id }) => id)]), new Set(jobs.map(({ id }) => id)))
})

await t.test('an operation sent again after a lost response is not done twice', async t => {
  const url = await server.createDatabase()
  const node = await openNode(t, url)
  const account = await accountWith(node, 100)
  const hold = await holdOf(node, account, 10)
  const place = { account, exchange: hold.exchangeId, sequence: 0, key: 'key', at: 5 }
  const name = { provider: 'openai', job_kind: 'batch', job: 'batch_1' }
  const open: PostgresOperation = {
    kind: 'job',
    ...place,
    ...name,
    owner: 'openai#1',
    dialect: 'openai',
    operation: 'batch',
    model: 'm',
    details: '{}',
    due: 0,
    expires: 9_000_000_000_000,
  }
  const end = { ...place, ...name, day: 0, model: 'm', dialect: 'openai', operation: 'batch' }
  const charge: PostgresOperation = {
    ...end,
    kind: 'charge',
    amount: 4,
    outcome: 'completed',
    source: 'provider',
    lines: '[]',
    raw: null,
    details: null,
    flags: '[]',
    ended_by: 'a',
  }
  const apply = async (operation: PostgresOperation): Promise<unknown> => {
    let row: { readonly ending: string; readonly one: string | null } | undefined
    await inDatabase(url, async client => {
      const batch = JSON.stringify([{ i: 0, ...operation }])
      ;[row] = (await client.query('SELECT ending, one FROM apply_operations($1)', [batch])).rows
    })
    return [row?.ending, row?.one === null ? null : Number(row?.one)]
  }
  t.strictSame(
    [await apply(open), await apply(open)],
    [
      ['job_opened', null],
      ['job_opened', null],
    ],
  )
  t.strictSame(
    [await apply(charge), await apply(charge)],
    [
      ['charged', 4],
      ['charged', 4],
    ],
  )
  t.strictSame(await apply({ ...charge, ended_by: 'b' }), ['job_ended', null], 'a later end by another node')
  t.strictSame(await apply({ ...end, kind: 'release', state: 'released', ended_by: 'c' }), [
    'job_ended',
    null,
  ])
  t.equal((await node.charges(account)).length, 1)
  t.equal((await node.ledger.balance(account)).heldMicros, 0)
})

await t.test('a job whose hold was expired by mistake holds the available money again', async t => {
  const url = await server.createDatabase()
  const node = await openNode(t, url)
  const account = await accountWith(node, 100)
  const hold = await holdOf(node, account, 60)
  // As another node expires them that considers this one gone.
  await inDatabase(url, async client => {
    await client.query(`UPDATE holds SET state = 'expired', resolved_at = 5`)
    await client.query(`UPDATE accounts SET held_micros = 0, worst_micros = 0 WHERE kind = 'customer'`)
  })
  await holdOf(node, account, 70)
  const name = batch()
  t.equal(await node.ledger.openJob(hold, name), true)
  t.match(await node.ledger.balance(account), {
    balanceMicros: roubles(100),
    heldMicros: roubles(100),
    availableMicros: 0,
  })
  t.strictSame(await node.verify(), [])
  const job = await node.ledger.findJob(name)
  t.match(job && (await node.ledger.chargeJob(job, chargeOf({ input: 40 }))), {
    amountMicros: roubles(30),
    overrunMicros: roubles(10),
    flags: ['overrun'],
  })
  t.strictSame(await node.verify(), [])
})

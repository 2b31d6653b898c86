import type { Job } from '../../lib/ledger/job.ts'
import { HoldResolvedError } from '../../lib/ledger/ledger.ts'
import { newId } from '../../lib/platform/new-id.ts'
import { command, failure, pay } from './ledger-model-state.ts'
import type { Command, Model, Real } from './ledger-model-state.ts'
import { chargeOf, roubles, testPrice } from './store-under-test.ts'

/** Makes a hold a job's: from then on it belongs to no exchange. */
export function openJob(pick: number): Command {
  const run = async (model: Model, real: Real): Promise<void> => {
    const index = pick % model.holds.length
    const [hold] = real.holds.splice(index, 1)
    const [known] = model.holds.splice(index, 1)
    if (hold === undefined || known === undefined) throw new Error('the model and the store differ')
    const { ledger } = real.store
    const name = { provider: 'openai', kind: 'batch', id: newId() } as const
    const isNew = await ledger.openJob(hold, {
      ...name,
      credential: 'openai#1',
      dialect: 'openai',
      operation: 'batch',
      model: 'm',
      facts: { upstreamModel: 'm', priceVersions: { '': testPrice.hash } },
      nextPollAt: 0,
      deadlineAt: 9_000_000_000_000,
    })
    const job = await ledger.findJob(name)
    if (!isNew || job?.state !== 'open') throw new Error('the job was not opened')
    real.jobs.push(job)
    model.jobs.push(known)
    const error = await failure(ledger.release(hold))
    if (!(error instanceof HoldResolvedError)) throw new Error("a job's hold was released by its exchange")
  }
  return command(`make hold ${pick} a job's`, run, model => model.holds.length > 0)
}

/** Ends a job from several processes at once; without a cost it is released. The first of them counts. */
export function endJob(pick: number, cost: number | undefined): Command {
  const run = async (model: Model, real: Real): Promise<void> => {
    const index = pick % model.jobs.length
    const [job] = real.jobs.splice(index, 1)
    const [known] = model.jobs.splice(index, 1)
    if (job === undefined || known === undefined) throw new Error('the model and the store differ')
    const endings = await Promise.all([
      ending(real, job, cost),
      ending(real, job, cost),
      ending(real, job, 1),
    ])
    if (endings.filter(isMine => isMine).length !== 1) throw new Error(`a job ended ${String(endings)}`)
    if (cost === undefined) return
    pay(model, known, cost)
  }
  return command(`end job ${pick} for ${cost ?? 'nothing'}`, run, model => model.jobs.length > 0)
}

async function ending({ store }: Real, job: Job, cost: number | undefined): Promise<boolean> {
  if (cost === undefined) return store.ledger.releaseJob(job)
  const result = await store.ledger.chargeJob(job, chargeOf({ input: cost }))
  if (result === undefined) return false
  if (result.amountMicros + result.overrunMicros !== roubles(cost))
    throw new Error('the job cost something else')
  return true
}

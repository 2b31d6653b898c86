import t from 'tap'
import { systemClock } from '../../../lib/platform/clock.ts'
import { logEvents } from '../../../lib/observability/log-events.ts'
import { createLog } from '../../../lib/observability/log.ts'
import { PipelineBus } from '../../../lib/pipeline/events.ts'

// An alarm carries its whole error. The log writes only listed fields, and no content that the error quotes or carries.

const settings = { log: { level: 'info', clientAddress: 'full' }, trustedProxies: [] } as const
const canary = 'Quetzal-response'

/** Errors of libraries that contain data of requests and responses. */
const errors: Readonly<Record<string, Error>> = {
  'text that is no JSON': thrownBy(() => JSON.parse(`{"a": ${canary}`) as unknown),
  'bytes of a response': Object.assign(new Error('Invalid header'), {
    code: 'HPE',
    data: Buffer.from(canary),
  }),
  'text of a response': Object.assign(new Error('Invalid header'), { data: canary }),
  'a value of a row': Object.assign(new Error(`invalid input syntax for type bigint: "${canary}"`), {
    severity: 'ERROR',
    detail: canary,
  }),
  'a mail server': Object.assign(new Error(`550 ${canary}`), { responseCode: 550, response: canary }),
  'a cause': new Error('it failed', { cause: thrownBy(() => JSON.parse(canary) as unknown) }),
  'one of several': new AggregateError([Object.assign(new Error('x'), { data: canary })], 'all failed'),
}

function thrownBy(work: () => unknown): Error {
  try {
    work()
  } catch (error) {
    if (error instanceof Error) return error
  }
  throw new Error('nothing was thrown')
}

for (const [name, error] of Object.entries(errors)) {
  await t.test(`${name}: the log of an alarm does not contain it`, t => {
    const lines: string[] = []
    const bus = new PipelineBus(() => undefined)
    logEvents(
      bus,
      createLog({ level: 'info', destination: { write: line => lines.push(line) } }),
      systemClock,
      () => settings,
    )

    bus.emit('alarm', 'job_unanswered', { provider: 'openai', error })

    t.equal(lines.length, 1)
    t.match(lines[0], /"alarm":"job_unanswered",.*"error":\{"type":/)
    t.notOk(lines.join('').includes(canary), lines.join(''))
    t.notOk(lines.join('').includes([...Buffer.from(canary)].join(',')))
    t.end()
  })
}

import { createHmac } from 'node:crypto'
import type { Test } from 'tap'
import { AlarmBook } from '../../lib/alarms/alarm-book.ts'
import { webhookChannel } from '../../lib/alarms/alarm-channel.ts'
import { AlarmTeller } from '../../lib/alarms/alarm-teller.ts'
import { closeAlarm, listAlarms } from '../../lib/alarms/alarms.ts'
import { countAlarms } from '../fixtures/count-alarms.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import type { SeenRequest } from '../fixtures/raw-upstream.ts'
import { until } from '../fixtures/until.ts'
import type { OpenStore, StoreUnderTest } from './store-under-test.ts'

/** `whsec_` and the signing secret. */
export const webhookSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const config = { egress: new Map(), dns: undefined }
const log = {
  error: (facts: object | string) => void log.errors.push(facts),
  warn: () => undefined,
  errors: [] as unknown[],
}

/** A message as it was posted; throws if its signature is invalid. */
export function readWebhook({ headers, body }: SeenRequest) {
  const header = (name: string): string => headers[headers.indexOf(name) + 1] ?? ''
  const [id, time] = [header('webhook-id'), header('webhook-timestamp')]
  const signed = createHmac('sha256', Buffer.alloc(32, 7))
    .update(`${id}.${time}.`)
    .update(body)
    .digest('base64')
  if (header('webhook-signature') !== `v1,${signed}`) throw new Error('the signature is wrong')
  const { type, data } = JSON.parse(body.toString()) as {
    type: string
    data: Readonly<Record<string, unknown>>
  }
  return { id, time: Number(time), type, data }
}

/** A receiver, and the channel that posts to it. */
async function startReceiver(t: Test, status: () => number = () => 200) {
  const receiver = await startRawUpstream(t, () => plainAnswer(status(), [], ''))
  const delivered = (): readonly string[] =>
    receiver.requests.map(request => {
      const { type, data } = readWebhook(request)
      return `${type} ${String(data['kind'])} ${String(data['subject'])}`
    })
  return { receiver, delivered }
}

function openTeller(
  t: Test,
  store: StoreUnderTest,
  url: string,
  { name = 'pager', clock = { now: () => Date.now() }, except = [] as readonly string[] } = {},
) {
  const channel = webhookChannel(name, { url: new URL(url), secret: webhookSecret }, { config, clock })
  const teller = new AlarmTeller(
    { records: () => store.records(), clock, log, everyMs: 10, awayMs: 20 },
    { channels: [channel], except, close: () => Promise.resolve() },
  )
  t.teardown(() => teller.close())
  return teller
}

function openBook(t: Test, store: StoreUnderTest, clock = { now: () => Date.now() }) {
  const book = new AlarmBook({ records: () => store.records(), clock, log, gatherMs: 1 })
  t.teardown(() => book.close())
  return book
}

/** The contract of alarm messages, on every store. */
export async function alarmMessagesContract(t: Test, open: OpenStore): Promise<void> {
  await t.test('of several processes, one sends each alarm when it opens and when it is closed', async t => {
    const store = await open(t)
    const records = await store.records()
    const book = openBook(t, store)
    const { receiver, delivered } = await startReceiver(t)
    for (let process = 0; process < 4; process += 1) openTeller(t, store, receiver.origin)
    const names = Array.from({ length: 30 }, (_, index) => `egress-${index}`)

    for (const egress of names) book.note('egress_down', { provider: 'openai', egress })
    for (const egress of names) book.note('egress_down', { provider: 'openai', egress })
    await until(() => delivered().length >= names.length)
    for (const egress of names) book.note('egress_up', { provider: 'openai', egress })
    await until(() => delivered().length >= 2 * names.length)
    book.note('egress_down', { provider: 'openai', egress: 'egress-0' })
    await until(() => delivered().length > 2 * names.length)
    const [newest] = await listAlarms(records, { limit: 1 })
    const id = newest?.id ?? ''
    await closeAlarm(records, { id, operator: 'olga', at: Date.now(), reason: 'mended' })
    await until(() => delivered().length > 2 * names.length + 1)
    await new Promise(resolve => setTimeout(resolve, 100))

    const once = (event: string) => names.map(name => `alarm.${event} egress_down openai/${name}`)
    t.same(
      delivered().toSorted(),
      [
        ...once('opened'),
        ...once('closed'),
        ...once('opened').slice(0, 1),
        ...once('closed').slice(0, 1),
      ].toSorted(),
    )
    const messages = receiver.requests.map(readWebhook)
    t.equal(new Set(messages.map(({ id }) => id)).size, messages.length, 'each has its own id')
    t.match(messages.at(-1)?.data, { closedBy: 'olga', reason: 'mended', says: /does not work/ })
    t.same(log.errors, [])
  })

  await t.test(
    'while a channel is down no messages pile up, and the state is sent once, over a restart',
    async t => {
      const clock = { time: 1_000_000, now: () => clock.time }
      let status = 500
      const { receiver, delivered } = await startReceiver(t, () => status)
      const store = await open(t)
      const records = await store.records()
      const book = openBook(t, store, clock)
      const teller = openTeller(t, store, receiver.origin, { clock })
      const settled = async (states: object): Promise<void> =>
        until(async () => JSON.stringify(await countAlarms(records)) === JSON.stringify(states))

      book.note('rate_missing', {})
      book.note('overrun', { account: 'a1' })
      await until(() => delivered().length === 2)
      const firstIds = receiver.requests.map(request => readWebhook(request).id)
      // The egress fails and recovers repeatedly; in the end it is up.
      for (let turn = 0; turn < 5; turn += 1) {
        clock.time += 10
        book.note('egress_down', { provider: 'openai', egress: 'fi' })
        await settled({ open: 3, taken: 0, closed: 0 })
        book.note('egress_up', { provider: 'openai', egress: 'fi' })
        await settled({ open: 2, taken: 0, closed: 1 })
      }
      for (let attempt = 0, known = 0; attempt < 3; attempt += 1) {
        known = delivered().length
        // An attempt may be recorded a moment later, and the wait begins then.
        await until(() => {
          clock.time += 10_000
          return delivered().length > known
        })
      }
      await teller.close()
      await book.close()
      const before = receiver.requests.length
      const again = await store.restart()
      status = 204
      clock.time += 16 * 60_000
      openTeller(t, again, receiver.origin, { clock })

      await until(() => delivered().length === before + 3)
      clock.time += 24 * 3_600_000
      await new Promise(resolve => setTimeout(resolve, 100))
      const last = receiver.requests.slice(before).map(readWebhook)
      t.same(last.map(({ type, data }) => `${type} ${String(data['kind'])}`).toSorted(), [
        'alarm.closed egress_down',
        'alarm.opened overrun',
        'alarm.opened rate_missing',
      ])
      t.same(
        last
          .filter(({ type }) => type === 'alarm.opened')
          .map(({ id }) => id)
          .toSorted(),
        firstIds.toSorted(),
        'under the ids of the first attempts',
      )
      t.equal(
        last[0]?.time,
        Math.floor(clock.time / 1000) - 24 * 3600,
        'each attempt is signed at its own time',
      )
    },
  )

  await t.test('no message is sent for excluded codes, nor for alarms that ended long ago', async t => {
    const store = await open(t)
    const clock = { time: 1_000_000, now: () => clock.time }
    const book = openBook(t, store, clock)
    const { receiver, delivered } = await startReceiver(t)

    book.note('egress_down', { provider: 'openai', egress: 'old' })
    book.note('egress_up', { provider: 'openai', egress: 'old' })
    await until(async () => (await countAlarms(await store.records())).closed === 1)
    clock.time += 25 * 3_600_000
    book.note('usage_missing', { provider: 'openai', model: 'gpt-5' })
    book.note('egress_down', { provider: 'openai', egress: 'new' })
    book.note('egress_up', { provider: 'openai', egress: 'new' })
    await until(async () => (await countAlarms(await store.records())).closed === 2)
    openTeller(t, store, receiver.origin, { clock, except: ['usage_missing'] })

    await until(() => delivered().length > 0)
    await new Promise(resolve => setTimeout(resolve, 50))
    t.same(delivered(), ['alarm.closed egress_down openai/new'])
  })
}

import { AlarmBook } from '../alarms/alarm-book.ts'
import type { AlarmChannels } from '../alarms/alarm-teller.ts'
import type { Config } from '../config/config.ts'
import type { PipelineBus } from '../pipeline/events.ts'
import type { Clock } from '../platform/clock.ts'
import type { Log } from '../platform/log.ts'
import type { Store } from '../stores/store.ts'

interface AlarmsOptions {
  readonly bus: PipelineBus
  readonly clock: Clock
  readonly log: Log
}

/** Records alarms as rows, and notifies operators. */
export interface Alarms {
  readonly note: AlarmBook['note']
  reload(config: Config): Promise<void>
  close(): Promise<void>
}

/** Records the bus's alarms as rows from now on; the notifier is loaded once there is a recipient. */
export async function openAlarms(config: Config, store: Store, options: AlarmsOptions): Promise<Alarms> {
  const { bus, clock, log } = options
  const records = () => store.records()
  const book = new AlarmBook({ records, clock, log })
  bus.on('alarm', book.note)
  const start = async (next: Config) => {
    if (next.alarms === undefined) return undefined
    const { AlarmTeller } = await import('../alarms/alarm-teller.ts')
    const opened = new AlarmTeller({ records, clock, log }, await openChannels(next, options))
    bus.on('alarm', opened.note)
    return opened
  }
  let teller = await start(config)
  return {
    note: book.note,
    async reload(next) {
      if (teller === undefined) teller = await start(next)
      else await teller.reload(await openChannels(next, options))
    },
    async close() {
      await book.close()
      await teller?.close()
    },
  }
}

async function openChannels(
  config: Config,
  { clock, log }: Pick<AlarmsOptions, 'clock' | 'log'>,
): Promise<AlarmChannels> {
  const { alarms, accountArea, timeZone } = config
  if (alarms === undefined) return { channels: [], except: [], close: () => Promise.resolve() }
  const { emailChannel, webhookChannel } = await import('../alarms/alarm-channel.ts')
  const { email, webhooks, except } = alarms
  const posted = Object.entries(webhooks).map(([name, webhook]) =>
    webhookChannel(name, webhook, { config, clock }),
  )
  if (email === undefined) return { channels: posted, except, close: () => Promise.resolve() }
  const { openMailer } = await import('../account-area/mail/mailer.ts')
  const mailer = openMailer({ mail: email.mail }, log)
  const site = accountArea?.name ?? 'Gateway'
  const sent = emailChannel({ to: email.to, site, timeZone }, one => mailer.deliver(one))
  return { channels: [...posted, sent], except, close: () => mailer.close() }
}

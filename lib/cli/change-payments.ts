import { alarmSentences } from '../pipeline/alarm-sentences.ts'
import type { RaiseAlarm } from '../pipeline/alarm-codes.ts'
import { systemClock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { PaymentActions } from '../payments/payment-actions.ts'
import type { SharedOptions } from './add-command.ts'
import { CommandError } from './context.ts'
import { openHouseConfig, openStoreSetting } from './open-config.ts'

/** Changes payments through the running server, or with the store's lock where none runs. */
export async function changePayments<T>(
  options: SharedOptions,
  change: (payments: PaymentActions) => Promise<T>,
): Promise<T> {
  const { isListening, ControlClient } = await import('../control/control-client.ts')
  const { socketPath } = await import('../control/socket-path.ts')
  const setting = openStoreSetting(options)
  if (setting.kind === 'sqlite' && (await isListening(socketPath(setting.file))))
    return change(new ControlClient(socketPath(setting.file)))
  // Nobody runs who has the secrets of the payment provider.
  const config = openHouseConfig(options)
  if (config.payments?.provider !== 'yookassa') {
    throw new CommandError(
      config.payments === undefined
        ? 'no payment provider is set up: see payments in the configuration'
        : 'the payment sandbox runs with the server: start gateway serve first',
    )
  }
  return changeDirectly(config, change)
}

async function changeDirectly<T>(
  config: Config,
  change: (payments: PaymentActions) => Promise<T>,
): Promise<T> {
  const [{ openStore }, { openPayments }, { createLog }, { AlarmBook }] = await Promise.all([
    import('../stores/open-store.ts'),
    import('../payments/open-payments.ts'),
    import('../observability/log.ts'),
    import('../alarms/alarm-book.ts'),
  ])
  const log = createLog({ level: 'warn' })
  const store = await openStore(config, { clock: systemClock, log })
  const alarms = new AlarmBook({ records: () => store.records(), clock: systemClock, log })
  const alarm: RaiseAlarm = (code, details) => {
    log.warn({ alarm: code, ...details }, alarmSentences[code])
    alarms.note(code, { ...details })
  }
  try {
    const payments = await openPayments({ config, store, clock: systemClock, log, alarm })
    if (payments === undefined)
      throw new CommandError('no payment provider is set up: see payments in the configuration')
    payments.setSite(config.accountArea?.publicUrl ?? config.publicUrl)
    try {
      return await change(payments.actions)
    } finally {
      await payments.close()
    }
  } finally {
    await alarms.close()
    await store.close()
  }
}

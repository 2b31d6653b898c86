import type { Config } from '../config/config.ts'
import { openControlServer } from '../control/control-server.ts'
import type { ControlServerOptions } from '../control/control-server.ts'
import type { Store } from '../stores/store.ts'

interface ControlOptions extends Pick<ControlServerOptions, 'log' | 'payments' | 'providers'> {
  readonly onReload?: ControlServerOptions['reload']
}

/** The socket on which the command line asks for changes; answers what closes it. */
export async function openControl(
  { store: setting }: Pick<Config, 'store'>,
  store: Pick<Store, 'accounts' | 'records'>,
  { log, payments, providers, onReload }: ControlOptions,
): Promise<() => Promise<void> | undefined> {
  if (setting.kind !== 'sqlite') return () => undefined
  const control = await openControlServer({
    storeFile: setting.file,
    accounts: store.accounts,
    payments,
    providers,
    records: () => store.records(),
    reload: onReload,
    log,
  })
  return () => control.close()
}

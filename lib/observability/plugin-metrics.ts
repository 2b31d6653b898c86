import { Counter, Registry } from 'prom-client'
import type { PluginCounter } from '../plugin-api/plugin-api.ts'

/** The metrics of external plugins. They outlive the plugins: after a reload the counters continue. */
export class PluginMetrics {
  readonly registry = new Registry()
  /** The names of all plugins that were created, shipped ones too. */
  readonly names = new Set<string>()

  /** @throws TypeError for an invalid name, or one that was used for a counter with other labels */
  counter(plugin: string, name: string, help: string, labelNames: readonly string[]): PluginCounter {
    if (!/^[a-z][a-z0-9_]*_total$/.test(name))
      throw new TypeError(`The counter "${name}" must be named in snake_case and end in _total.`)
    const fullName = `gateway_plugin_${plugin.replaceAll('-', '_')}_${name}`
    const labels = labelNames.toSorted()
    const known = this.#counters.get(fullName)
    if (known !== undefined && known.labels !== labels.join())
      throw new TypeError(`The counter "${name}" was created with other labels: ${known.labels}.`)
    const counter =
      known?.counter ?? new Counter({ name: fullName, help, labelNames: labels, registers: [this.registry] })
    this.#counters.set(fullName, { counter, labels: labels.join() })
    return { increase: (values = {}, by = 1) => counter.inc({ ...values }, by) }
  }

  readonly #counters = new Map<string, { readonly counter: Counter; readonly labels: string }>()
}

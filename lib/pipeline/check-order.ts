import type { Fact } from './facts.ts'
import type { Plugin } from './plugin.ts'

/** The plugins cannot work in this order or without one another. Thrown at boot, never for a request. */
export class PipelineOrderError extends Error {
  readonly code = 'PIPELINE_ORDER'

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'PipelineOrderError'
  }
}

/**
 * Checks that every fact a plugin needs is provided by an earlier one, and that exactly one plugin forwards.
 * @param given facts that are known before the first gate
 * @throws PipelineOrderError
 */
export function checkOrder(plugins: readonly Plugin[], given: readonly Fact[]): void {
  const known = new Set<Fact>(given)
  for (const plugin of plugins) {
    for (const fact of [...(plugin.needs ?? []), ...(plugin.needsToForward ?? [])]) {
      if (known.has(fact)) continue
      const provider = plugins.find(other => other.provides?.includes(fact))
      throw new PipelineOrderError(
        provider === undefined
          ? `Plugin "${plugin.name}" needs "${fact}", and no enabled plugin provides it. Enable the one that does.`
          : `Plugin "${plugin.name}" needs "${fact}", which "${provider.name}" provides: list "${provider.name}" before it.`,
      )
    }
    for (const fact of plugin.provides ?? []) known.add(fact)
  }
  const forwarding = plugins.filter(plugin => plugin.forward !== undefined).map(plugin => plugin.name)
  if (forwarding.length !== 1) {
    throw new PipelineOrderError(
      forwarding.length === 0
        ? 'No enabled plugin forwards requests. Enable "upstream-proxy".'
        : `Exactly one plugin may forward requests, and these do: ${forwarding.join(', ')}.`,
    )
  }
}

import { Registry } from 'prom-client'
import t from 'tap'
import { sumMetrics } from '../../../lib/observability/metrics.ts'
import { registerProviderMetrics } from '../../../lib/observability/provider-metrics.ts'
import type { ProviderReading } from '../../../lib/upstream/provider-state.ts'

async function valuesOf(...readings: ProviderReading[]) {
  const registry = new Registry()
  registerProviderMetrics(registry, () => readings)
  return await registry.getMetricsAsJSON()
}

await t.test('the sum of several workers has the worst state of each', async t => {
  const healthy: ProviderReading = {
    name: 'openai',
    isUp: true,
    credentials: [{ name: 'openai#1', state: 'ready' }],
    egress: [{ name: 'direct', isUp: true }],
  }
  const failing: ProviderReading = {
    name: 'openai',
    isUp: false,
    credentials: [{ name: 'openai#1', state: 'suspended' }],
    egress: [{ name: 'direct', isUp: false }],
  }

  const text = await sumMetrics([
    await valuesOf(healthy),
    await valuesOf(failing),
    await valuesOf(healthy),
  ]).text()

  t.match(text, 'gateway_provider_up{provider="openai"} 0\n')
  t.match(text, 'gateway_egress_up{provider="openai",egress="direct"} 0\n')
  t.match(text, 'gateway_credential_state{provider="openai",credential="openai#1",state="ready"} 1\n')
  t.match(text, 'gateway_credential_state{provider="openai",credential="openai#1",state="suspended"} 1\n')
  t.match(text, 'gateway_credential_state{provider="openai",credential="openai#1",state="resting"} 0\n')
})

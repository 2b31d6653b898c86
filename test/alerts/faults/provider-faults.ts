import { setTimeout as delay } from 'node:timers/promises'
import { callConfig, dialectCalls, type DialectCall } from '../../fixtures/dialect-call.ts'
import { jobConfig } from '../../fixtures/job-gateway.ts'
import { plainAnswer, startRawUpstream } from '../../fixtures/raw-upstream.ts'
import { startTestGateway } from '../../fixtures/test-gateway.ts'
import { admin, adminUrlOf, ask, json } from './fault.ts'
import type { Fault } from './fault.ts'

const [openai] = dialectCalls as readonly [DialectCall]

/** A provider that gives this response to every request. */
function answering(alert: string, cause: string, status: number, body: string, requests: number): Fault {
  return {
    alert,
    cause,
    async start(t) {
      const upstream = await startRawUpstream(t, () => plainAnswer(status, json, body))
      const gateway = await startTestGateway(t, { config: callConfig(upstream.origin, {}, { admin }) })
      return {
        adminUrl: adminUrlOf(gateway),
        async strike() {
          // Sequentially, so that the series rises between scrapes.
          for (let count = 0; count < requests; count += 1) {
            await ask(gateway)
            await delay(200)
          }
        },
      }
    },
  }
}

const wrongKey = '{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}'
const broken = '{"error":{"message":"The server had an error"}}'
const { usage: _, ...withoutUsage } = JSON.parse(openai.document) as Record<string, unknown>

/** Faults of providers and of the routes to them. */
export const providerFaults: readonly Fault[] = [
  answering('GatewayCredentialSuspended', 'a provider refuses the credential', 401, wrongKey, 1),
  answering('GatewayProviderDown', 'a provider refuses its only credential', 401, wrongKey, 1),
  answering('GatewayProviderFailing', 'a provider responds 500', 500, broken, 100),
  answering('GatewayUsageMissing', 'a provider does not report usage', 200, JSON.stringify(withoutUsage), 40),
  {
    alert: 'GatewayEgressDown',
    cause: 'an egress is dead',
    async start(t) {
      const config = callConfig(
        'https://provider.example.org',
        { egress: ['berlin'] },
        { admin, egress: { berlin: { url: 'http://127.0.0.1:9' } } },
      )
      const gateway = await startTestGateway(t, { config })
      return { adminUrl: adminUrlOf(gateway), strike: () => ask(gateway) }
    },
  },
  {
    alert: 'GatewayProviderSlow',
    cause: 'a provider takes more than a minute to respond',
    async start(t) {
      const upstream = await startRawUpstream(t, async () => {
        await delay(65_000)
        return plainAnswer(200, json, openai.document)
      })
      const gateway = await startTestGateway(t, { config: callConfig(upstream.origin, {}, { admin }) })
      return {
        adminUrl: adminUrlOf(gateway),
        async strike() {
          // Sequentially, so that the series rises between scrapes.
          for (let count = 0; count < 20; count += 1) {
            void ask(gateway)
            await delay(500)
          }
        },
      }
    },
  },
  {
    alert: 'GatewayJobUnanswered',
    cause: 'a provider cannot be reached when the gateway polls a video',
    async start(t) {
      const video = { id: 'video_1', object: 'video', model: 'sora-2', status: 'queued', seconds: '4' }
      const upstream = await startRawUpstream(t, ({ method }) =>
        method === 'POST'
          ? plainAnswer(200, json, JSON.stringify({ ...video, size: '720x1280' }))
          : { pieces: [], then: 'reset' },
      )
      const gateway = await startTestGateway(t, { config: { ...jobConfig(upstream.origin, 1000), admin } })
      return {
        adminUrl: adminUrlOf(gateway),
        strike: () =>
          fetch(`${gateway.url}/v1/videos`, {
            method: 'POST',
            headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
            body: JSON.stringify({ model: 'sora-2', prompt: 'A calm sea', seconds: '4' }),
          }),
      }
    },
  },
]

import type { Test } from 'tap'
import type { TestGateway } from '../../fixtures/test-gateway.ts'

/** A gateway, and the fault that strikes it. */
export interface Fault {
  /** The alert that has to fire. */
  readonly alert: string
  readonly cause: string
  /** Starts a healthy gateway. */
  start(t: Test): Promise<{ readonly adminUrl: string; strike(): Promise<unknown> }>
}

export const admin = { listen: { host: '127.0.0.1', port: 0 } }
export const json = ['content-type', 'application/json']
export const sandbox = {
  providers: { sandbox: {} },
  models: { 'sandbox-chat': { provider: 'sandbox', rubPerMillion: { input: '100', output: '200' } } },
}

export function adminUrlOf({ gateway }: TestGateway): string {
  return gateway.adminUrl ?? ''
}

/** Sends one chat; returns its status, or undefined where there is no response. */
export async function ask({ url, key }: TestGateway, model = 'test-model'): Promise<number | undefined> {
  const body = JSON.stringify({ model, max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }] })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
    .then(async got => ({ status: got.status, text: await got.text() }))
    .catch(() => undefined)
  return response?.status
}

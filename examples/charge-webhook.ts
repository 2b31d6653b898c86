import { createHmac } from 'node:crypto'
import { definePlugin } from 'gateway/plugin'
import { z } from 'zod'

/** How many charges may wait while the receiver is down; further ones are dropped, and logged. */
const waitingMax = 10_000
const attemptsMax = 8

/**
 * Posts every charge to an address, signed: `x-signature` is the SHA-256 HMAC of the body. The receiver should process
 * each `requestId` and `sequence` once: an attempt whose response was lost is repeated.
 */
export const chargeWebhook = definePlugin({
  name: 'charge-webhook',
  options: z.strictObject({
    url: z.url(),
    secret: z.string().min(16),
    /** The wait before the second attempt; each further one waits twice as long. */
    retryMs: z.int().min(1).default(500),
  }),

  create(context, { url, secret, retryMs }) {
    const waiting = new Set<Promise<void>>()
    const posted = context.counter('posts_total', 'Charges posted, by what became of it.', ['result'])

    async function post(body: string): Promise<void> {
      const signature = createHmac('sha256', secret).update(body).digest('hex')
      const headers = { 'content-type': 'application/json', 'x-signature': signature }
      for (let attempt = 0; attempt < attemptsMax; attempt++) {
        if (attempt > 0) await new Promise(resolve => setTimeout(resolve, retryMs * 2 ** (attempt - 1)))
        try {
          const response = await fetch(url, {
            method: 'POST',
            headers,
            body,
            signal: AbortSignal.timeout(10_000),
          })
          await response.body?.cancel()
          if (response.ok) return posted.increase({ result: 'posted' })
        } catch (error) {
          context.log.debug({ error: String(error), attempt }, 'a charge could not be posted')
        }
      }
      posted.increase({ result: 'given_up' })
      context.log.error({ body }, 'a charge was not posted')
    }

    return {
      onCharge(charge) {
        const body = JSON.stringify(charge)
        if (waiting.size >= waitingMax) {
          posted.increase({ result: 'dropped' })
          context.log.error({ body }, 'a charge was not posted: too many wait')
          return
        }
        const posting = post(body).finally(() => waiting.delete(posting))
        waiting.add(posting)
      },

      async stop() {
        await Promise.all(waiting)
      },
    }
  },
})

import type { BlockList } from 'node:net'
import { addressList, addressOf, isListed } from '../../../http/client-address.ts'
import { readBody } from '../../../http/read-body.ts'
import { ProviderError } from '../../../payments/payment-provider.ts'
import type { PageContext, Site } from '../../page.ts'

const bodyBytesMax = 256 * 1024

/** Undefined when the text is no JSON, which then is a notification of nothing. */
function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/**
 * Receives notifications of the payment provider. The sender's address is checked where trusted proxies report it; the
 * content is only a hint in any case. The provider repeats what gets no response of 200.
 */
export function paymentNotifications(site: Site, trusted: BlockList) {
  return async (context: PageContext): Promise<Response> => {
    const { payments, log } = site
    if (payments === undefined) return context.text('', 404)
    const { incoming } = context.env
    const senders = payments.settings().yookassa?.notificationAddresses
    const address = addressOf(incoming, trusted)
    const isSaid = site.config.trustedProxies.length > 0
    if (isSaid && senders !== undefined && !isListed(addressList(senders), address)) {
      log.warn({ address }, 'a payment notification came from an address that is not the provider')
      return context.text('', 403)
    }
    const body = await readBody(incoming, bodyBytesMax)
    // What is left of it is not read, so nothing else can follow on the connection.
    if (body === undefined) return context.text('', 413, { connection: 'close' })
    try {
      const ending = await payments.notified(parsedJson(body.toString('utf8')))
      if (ending === 'unknown')
        log.info({ address }, 'a payment notification is about nothing that is known here')
      return context.text('', ending === 'busy' ? 429 : 200)
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error
      // What the provider itself does not know was not told by it.
      const isForged = error.failure === 'not_found'
      log.warn(
        { error, address },
        isForged ? 'a payment notification is forged' : 'a notified payment could not be fetched',
      )
      return context.text('', isForged ? 200 : 500)
    }
  }
}

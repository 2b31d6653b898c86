import { definePlugin } from 'gateway/plugin'

/** Tells the client which provider and model served a request, and the provider which account sent it. */
export const responseHeader = definePlugin({
  name: 'response-header',
  needs: ['key', 'target'],

  create() {
    return {
      onUpstreamRequest(exchange, request) {
        request.setHeader('x-tenant', exchange.get('key').accountId)
      },

      onResponse(exchange) {
        const { provider, upstreamModel } = exchange.get('target')
        exchange.addResponseHeader('x-served-by', `${provider}/${upstreamModel}`)
        return undefined
      },
    }
  },
})

import { definePlugin } from 'gateway/plugin'
import { z } from 'zod'

/**
 * Refuses requests that contain one of some words, in bodies, uploads and WebSocket messages alike.
 *
 * plugins: [auth, model-router, ./block-words.ts: { words: [swordfish] }, size-limit, upstream-proxy, usage-tap]
 */
export const blockWords = definePlugin({
  name: 'block-words',
  options: z.strictObject({ words: z.array(z.string().min(1)).min(1) }),
  needs: ['key'],
  errors: { word_blocked: { status: 403 } },

  create(context, { words }) {
    const blocked = words.map(word => word.toLowerCase())
    const lengthMax = Math.max(...blocked.map(word => word.length))
    const refusals = context.counter('refusals_total', 'Requests that held a blocked word.')

    return {
      onRequestText(exchange) {
        // A word may start in one piece and end in the next.
        let end = ''
        return {
          onText(piece) {
            const text = end + piece.toLowerCase()
            const found = blocked.find(word => text.includes(word))
            end = text.slice(-lengthMax)
            if (found === undefined) return
            refusals.increase()
            context.log.warn({ key: exchange.get('key').id }, 'a request held a blocked word')
            throw context.error('word_blocked', `The word "${found}" is not allowed here.`)
          },
        }
      },

      // The same for streamed responses: the client receives what came before the word, and the reason.
      onResponse(exchange) {
        let end = ''
        return {
          onText(piece) {
            const text = end + piece.toLowerCase()
            end = text.slice(-lengthMax)
            if (!blocked.some(word => text.includes(word))) return
            exchange.cut(context.error('word_blocked', 'The response held a word that is not allowed here.'))
          },
        }
      },
    }
  },
})

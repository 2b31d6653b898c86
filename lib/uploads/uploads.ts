import type { Stage } from '../pipeline/plugin.ts'
import { UploadFacts, type UploadContext } from './upload-facts.ts'
import { UploadRoom, type RoomContext } from './upload-room.ts'

/** The uploads' stage of an exchange: files are measured on their way, recorded as what they become, and limited. */
export function uploads(context: UploadContext & RoomContext): Stage {
  const facts = new UploadFacts(context, () => performance.now())
  const room = new UploadRoom(context)
  return {
    needs: ['route', 'request', 'target'],

    onRequest(exchange) {
      const { operation, object } = exchange.get('route').match
      if (operation.carriesFile === undefined && object?.kind !== 'upload') return undefined
      exchange.set('objectWatcher', {
        factsOf: named => facts.of(exchange, named),
        onNamed: async (named, measured) => room.keep(exchange, named, await measured),
      })
      if (operation.carriesFile === undefined) return undefined
      if (exchange.find('upload') !== undefined) facts.watch(exchange)
      return room.reserve(exchange)
    },

    onEnd(exchange, outcome) {
      if (exchange.find('objectWatcher') === undefined) return undefined
      if (exchange.find('upload') !== undefined) facts.end(exchange)
      return room.end(exchange, outcome)
    },

    stop: () => facts.close(),
  }
}

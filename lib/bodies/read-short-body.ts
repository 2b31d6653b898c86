import type { IncomingMessage } from 'node:http'
import { GatewayError } from '../pipeline/errors.ts'

/** The client closed its connection while its request was being read. Nobody is left to be told. */
export class ClientLeftError extends Error {
  constructor(cause?: unknown) {
    super('The client left while its request was being read.', cause === undefined ? undefined : { cause })
    this.name = 'ClientLeftError'
  }
}

/** Takes in a short body. */
interface ShortBodyReader<T> {
  /** Takes the next chunk; what it throws ends the reading. */
  keep(chunk: Buffer): void
  /** All chunks are there. */
  finish(): T | Promise<T>
}

/**
 * Reads a body that is so short that its chunks are simply kept, which is how nearly all requests come: as
 * one chunk, with their head.
 * @returns what the reader makes of it
 * @throws ClientLeftError, GatewayError request_timeout, and what the reader throws
 */
export function readShortBody<T>(
  request: IncomingMessage,
  timeMs: number,
  reader: ShortBodyReader<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const onData = (chunk: Buffer): void => {
      try {
        reader.keep(chunk)
      } catch (error) {
        detach()
        reject(error)
      }
    }
    const detach = (): void => {
      clearTimeout(timer)
      request.off('data', onData)
      request.off('end', onEnd)
      request.off('close', onGone)
      // 'error' stays listened to: a late one must not become an uncaught exception.
      request.off('error', onGone)
      request.on('error', ignoreLateError)
    }
    const onEnd = (): void => {
      detach()
      try {
        resolve(reader.finish())
      } catch (error) {
        reject(error)
      }
    }
    const onGone = (): void => {
      detach()
      reject(new ClientLeftError())
    }
    const timer = setTimeout(() => {
      detach()
      reject(tooSlow(timeMs))
    }, timeMs)
    request.on('data', onData)
    request.once('end', onEnd)
    request.once('error', onGone)
    request.once('close', onGone)
  })
}

/** The body did not come in time. */
export function tooSlow(timeMs: number): GatewayError {
  return new GatewayError('request_timeout', `The body of the request did not come in ${timeMs} ms.`)
}

/** The exchange has been told already; node:http emits once more when the socket goes. */
export function ignoreLateError(): void {
  return undefined
}

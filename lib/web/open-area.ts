import type { IncomingMessage, RequestListener, ServerResponse, Server } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { getRequestListener } from '@hono/node-server'
import type { Hono } from 'hono'
import { addressList, addressOf, networkOf, ownerOfConnection } from '../http/client-address.ts'
import { readCertificate, type Certificate } from '../listener/certificate.ts'
import type { Config, Listen } from '../config/config.ts'
import type { Log } from '../platform/log.ts'
import { Pace } from '../overload/overload.ts'
import { steadyClock, type Clock } from '../platform/clock.ts'
import type { FailureCounts } from '../rate-limits/failure-counts.ts'
import type { PasswordCost } from './sign-in/password-hash.ts'
import type { PageEnv } from './web-page.ts'
import type { WriteError } from '../listener/answer-error.ts'
import {
  createHttpServer,
  listenOn,
  plainHeaders,
  renewCertificate,
  urlOf,
  writePlainly,
  type ServerBounds,
} from '../listener/http-server.ts'

/** Pages on a port of their own, as they run. */
export interface OpenArea {
  /** Where it listens. */
  readonly url: string
  /** Where its users find it. */
  readonly publicUrl: URL
  /** Shows another config from the next page on, and this certificate from the next connection on. */
  reload(config: Config, certificate: Certificate | undefined): void
  /** Serves on for `waitMs`, then ends. May be called again. */
  close(waitMs?: number): Promise<void>
}

/** What every area is made with. */
export interface AreaParts {
  readonly config: Config
  /** Counts what fails, for all nodes. */
  readonly failures: FailureCounts
  readonly passwordCost?: PasswordCost | undefined
  readonly clock: Clock
  readonly log: Log
}

interface AreaOptions {
  readonly config: Config
  readonly settings: { readonly listen: Listen; readonly publicUrl?: URL | undefined }
  readonly log: Log
  /** Makes the pages, given where users find them, and the config as it is at any time. */
  readonly open: (publicUrl: URL, current: { readonly config: Config }) => Promise<Hono<PageEnv>>
  /** Deletes what is not to be kept any longer: at the start, and every hour. */
  readonly purge: () => Promise<void>
}

const hour = 60 * 60_000
/** What a network may ask for: an office has one, and a page comes with three files that browsers keep. */
const pace = { perSecond: 100, burst: 400, waitMsMax: 10_000 }

const bounds: ServerBounds = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 30_000,
  connectionsMax: 2000,
}
const apiPath = /^\/v1(?:beta)?\//
/** For pages that are being made when the end begins. */
const lastPagesMs = 5000

/** Serves on for a while, then lets pages that are being made end. */
async function end(server: Server, waitMs: number): Promise<void> {
  if (waitMs > 0) await delay(waitMs)
  const closed = new Promise<void>(resolve => server.close(() => resolve()))
  server.closeIdleConnections()
  await Promise.race([closed, delay(lastPagesMs, undefined, { ref: false })])
  server.closeAllConnections()
  await closed
}

function refuseApi(response: ServerResponse, { origin }: URL): void {
  const message = `These are web pages; the API is at ${origin}. Change the base URL.`
  response.writeHead(404, { ...plainHeaders, 'content-type': 'application/json', connection: 'close' }).end(
    JSON.stringify({
      error: { message, type: 'invalid_request_error', param: null, code: 'route_not_found' },
    }),
  )
}

/** Whether a request is none for a page; then it is answered. */
function isRefused(request: IncomingMessage, response: ServerResponse, { publicUrl }: Config): boolean {
  // A client of the API with the wrong port gets no page.
  if (apiPath.test(request.url ?? '')) refuseApi(response, publicUrl)
  // The platform makes no request of it that pages could be asked.
  else if (request.method === 'TRACE')
    response.writeHead(405, { ...plainHeaders, allow: 'GET, HEAD, POST', connection: 'close' }).end()
  else return false
  return true
}

/** Opens an area on a port of its own. */
export async function openArea({ config, settings, log, open, purge }: AreaOptions): Promise<OpenArea> {
  const running: { listener?: ReturnType<typeof getRequestListener> } = {}
  const trusted = addressList(config.trustedProxies)
  const ownerOf = (socket: Socket): unknown => ownerOfConnection(socket, trusted)
  const handle: RequestListener = (request, response) => {
    // Until there are pages, which is a moment, nobody knows of this port.
    if (running.listener === undefined) response.writeHead(503, plainHeaders).end()
    else if (!isRefused(request, response, config)) void inTime(running.listener, request, response)
  }
  const writeError: WriteError = (socket, error, status) => {
    log.info({ status }, 'a request for a page could not be read')
    writePlainly(socket, error, status)
  }
  const certificate = readCertificate(config)
  const server = createHttpServer({ bounds, certificate, ownerOf, handle, writeError })
  const paces = new Pace({ ...pace, clock: steadyClock })
  const inTime = async (
    show: ReturnType<typeof getRequestListener>,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> => {
    const waitMs = paces.next(networkOf(addressOf(request, trusted)))
    if (waitMs === undefined) {
      response.writeHead(429, { ...plainHeaders, 'retry-after': '10', connection: 'close' }).end()
      return
    }
    if (waitMs > 0) await delay(waitMs, undefined, { ref: false })
    if (!response.destroyed) await show(request, response)
  }
  await listenOn(server, settings.listen)
  const url = new URL(urlOf(server))
  const publicUrl = settings.publicUrl ?? url
  const purgeNow = (): void => {
    purge().catch((error: unknown) => log.error({ error }, 'expired sessions and links could not be deleted'))
  }
  const timer = setInterval(purgeNow, hour)
  timer.unref()
  // A server that is started anew every night must forget, too.
  purgeNow()
  let closed: Promise<void> | undefined
  const close = (waitMs = 0): Promise<void> => {
    clearInterval(timer)
    return (closed ??= end(server, waitMs))
  }
  try {
    const current = { config }
    const router = await open(publicUrl, current)
    running.listener = getRequestListener(router.fetch, { overrideGlobalObjects: false })
    const reload: OpenArea['reload'] = (next, certificate) => {
      current.config = next
      renewCertificate(server, certificate)
    }
    return { url: url.origin, publicUrl, reload, close }
  } catch (error) {
    await close()
    throw error
  }
}

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

/** Running pages on a port of their own. */
export interface OpenArea {
  /** The URL of the listener. */
  readonly url: string
  /** The URL that users open. */
  readonly publicUrl: URL
  /** Applies a new config from the next request on, and a new certificate from the next connection on. */
  reload(config: Config, certificate: Certificate | undefined): void
  /** Serves for another `waitMs`, then stops. May be called repeatedly. */
  close(waitMs?: number): Promise<void>
}

/** Parts that every area needs. */
export interface AreaParts {
  readonly config: Config
  /** Counts failures across all nodes. */
  readonly failures: FailureCounts
  readonly passwordCost?: PasswordCost | undefined
  readonly clock: Clock
  readonly log: Log
}

interface AreaOptions {
  readonly config: Config
  readonly settings: { readonly listen: Listen; readonly publicUrl?: URL | undefined }
  readonly log: Log
  /** Creates the pages, given their public URL and the current config. */
  readonly open: (publicUrl: URL, current: { readonly config: Config }) => Promise<Hono<PageEnv>>
  /** Deletes expired data: at the start, and every hour. */
  readonly purge: () => Promise<void>
}

const hour = 60 * 60_000
/** The rate limit of a network: a whole office may share one, and a page loads three files that browsers cache. */
const pace = { perSecond: 100, burst: 400, waitMsMax: 10_000 }

const bounds: ServerBounds = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 30_000,
  connectionsMax: 2000,
}
const apiPath = /^\/v1(?:beta)?\//
/** The time for running requests when the area stops. */
const lastPagesMs = 5000

/** Serves for a while, then waits for running requests. */
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

/** Handles requests that are not for a page; returns whether it responded. */
function isRefused(request: IncomingMessage, response: ServerResponse, { publicUrl }: Config): boolean {
  // An API client on the wrong port gets an error instead of a page.
  if (apiPath.test(request.url ?? '')) refuseApi(response, publicUrl)
  // The Fetch API's Request rejects TRACE, so the pages could not handle it.
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
    // The port is not announced before the pages are ready, a moment later.
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
  // At the start too: a server that restarts every night must also delete.
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

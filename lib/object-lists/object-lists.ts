import type { ObjectList } from '../dialects/object-list.ts'
import { GatewayError } from '../pipeline/errors.ts'
import { ownObject } from '../models/object-owner.ts'
import type { Exchange, LocalAnswer } from '../pipeline/exchange.ts'
import type { Config } from '../config/config.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Clock } from '../platform/clock.ts'
import { Upstreams, type UpstreamsContext } from '../upstream/upstreams.ts'
import { collectPage } from './collect-page.ts'
import { fetchObject } from './fetch-object.ts'
import { ownRows } from './own-rows.ts'

/** A page takes a second or two; what takes much longer is a provider that does not respond. */
const pageMs = 60_000

interface ListsContext extends UpstreamsContext {
  readonly config: Config
  readonly ledger: Ledger
  readonly clock: Clock
}

/**
 * Lists of the objects that accounts have at providers. What is in a list is known here, and how each object stands
 * its provider is asked for: the bytes of a page are the gateway's around the provider's own.
 */
export class ObjectLists {
  readonly #context: ListsContext
  readonly #upstreams: Upstreams

  constructor(context: ListsContext) {
    this.#context = context
    this.#upstreams = Upstreams.shared(context.config, context)
  }

  /**
   * A page of an account's own objects.
   * @throws GatewayError request_invalid, object_not_found for a cursor that is not the account's own,
   * upstream_unreachable when one of the objects could not be fetched
   */
  async answer(exchange: Exchange, list: ObjectList): Promise<LocalAnswer> {
    const route = exchange.get('route')
    const query = new URLSearchParams(/\?(.*)$/s.exec(route.match.upstreamPath)?.[1] ?? '')
    const page = list.readPage(query)
    const accountId = exchange.find('key')?.accountId
    const { config, ledger, clock } = this.#context
    const places = { dialectName: route.dialect.name, providerName: route.providerName }
    const cursor =
      page.cursor &&
      (await ownObject({ config, ledger }, accountId, places, { kind: list.kind, id: page.cursor.id }))
    const rows = ownRows({ config, ledger, clock }, { accountId, list, page, cursor, ...places })
    const left = new AbortController()
    const onClose = (): void => left.abort()
    exchange.response.once('close', onClose)
    const timeout = AbortSignal.timeout(pageMs)
    const signal = AbortSignal.any([left.signal, timeout])
    try {
      const context = { ...this.#context, upstreams: this.#upstreams, exchange, list, signal }
      const collected = await collectPage(rows, page, row => fetchObject(context, row))
      const body = Buffer.concat(list.writePage(collected))
      return { status: 200, headers: ['content-type', 'application/json'], body }
    } catch (cause) {
      if (!timeout.aborted) throw cause
      throw new GatewayError(
        'upstream_timeout',
        `Some of the ${list.kind} objects could not be fetched in time.`,
        { cause },
      )
    } finally {
      exchange.response.removeListener('close', onClose)
    }
  }

  close(): void {
    this.#upstreams.close()
  }
}

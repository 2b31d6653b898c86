import type { MemoryKeyDirectory } from '../../accounts/memory-key-directory.ts'
import type { Clock } from '../../platform/clock.ts'
import { keyRecord } from '../shared/stored-keys.ts'
import { connectPostgres, endPostgres } from './postgres-connection.ts'
import type { PostgresClient } from './postgres-connection.ts'
import type { KeyRow } from '../shared/ledger-columns.ts'

interface PostgresNodeOptions {
  readonly url: string
  readonly id: string
  readonly keys: MemoryKeyDirectory
  /** A clock that cannot be set. */
  readonly steadyClock: Clock
  /** How long a silent node keeps its holds. */
  readonly leaseMs: number
  /** Ends holds that dead nodes have left open. */
  readonly endOrphaned: () => Promise<void>
  readonly onError: (error: unknown) => void
}

/** How often keys are read, announced or not, and a lost connection is reopened. */
const tickMs = 500

/**
 * How long a query may stay unanswered. A broken connection is replaced in less; callers that wait for this node should
 * not wait longer.
 */
const answerMs = 3_000

/**
 * A change with a lower version may be committed after one with a higher, so each read goes back this many versions,
 * and includes announced keys whatever their version.
 */
const versionsAgain = 100

/** A node that died leaves its row behind; its holds have ended by then. */
const forgetNodes = `DELETE FROM nodes WHERE lease_until < now() - interval '1 hour'`

/**
 * One node of several: renews its lease, reads changes of keys, and finds what dead nodes have left open. The lease and
 * the keys share one connection, so that a node that receives no changes does not renew its lease either.
 */
export class PostgresNode {
  readonly #options: PostgresNodeOptions
  #client: PostgresClient | undefined
  #version = 0
  #connectedAt = 0
  #beatAt = 0
  /** Keys that were announced and have not been read since. */
  #announced = new Set<string>()
  /** Since when a query is unanswered; undefined while none is. */
  #askedAt: number | undefined
  #timer: NodeJS.Timeout | undefined
  #ticking: Promise<void> | undefined
  /** The database is out of reach, and that was reported. */
  #isOut = false
  #isClosed = false

  constructor(options: PostgresNodeOptions) {
    this.#options = options
  }

  /** @throws Error when the database cannot be reached */
  async start(): Promise<void> {
    await this.#connect()
    this.#schedule(this.#tickMs)
  }

  /**
   * Whether the other nodes know that this node is alive. If not, they release its holds, and it may not know which
   * keys are revoked.
   */
  get isHeard(): boolean {
    const { steadyClock, leaseMs } = this.#options
    return steadyClock.now() - this.#beatAt < leaseMs
  }

  /** Whether the database answers. Every tick sends a query, so a node that has nothing to write knows too. */
  get isAnswered(): boolean {
    return this.#askedAt === undefined || this.#options.steadyClock.now() - this.#askedAt < answerMs
  }

  /** Removes this node's row, if the database can still be reached. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#ticking
    const client = this.#client
    this.#client = undefined
    if (client === undefined) return
    try {
      await client.query('DELETE FROM nodes WHERE id = $1', [this.#options.id])
    } catch (error) {
      // Its lease ends instead.
      this.#options.onError(error)
    }
    await endPostgres(client)
  }

  get #tickMs(): number {
    return Math.min(tickMs, this.#options.leaseMs / 4)
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#isClosed) return
    this.#timer = setTimeout(() => {
      if (this.#ticking !== undefined) return
      this.#ticking = this.#tick().finally(() => {
        this.#ticking = undefined
        this.#schedule(this.#announced.size > 0 ? 0 : this.#tickMs)
      })
    }, ms)
    this.#timer.unref()
  }

  async #tick(): Promise<void> {
    const { steadyClock, leaseMs } = this.#options
    this.#askedAt ??= steadyClock.now()
    try {
      const client = this.#client ?? (await this.#connect())
      await this.#readKeys(client)
      this.#askedAt = undefined
      if (steadyClock.now() - this.#beatAt < leaseMs / 3) return
      await this.#beat(client)
      // After an outage of the database, the other nodes have the time of a lease to renew theirs.
      if (steadyClock.now() - this.#connectedAt > leaseMs) {
        await this.#options.endOrphaned()
        await client.query(forgetNodes)
      }
    } catch (error) {
      this.#lose(this.#client)
      if (!this.#isOut) this.#options.onError(error)
      this.#isOut = true
    }
  }

  async #connect(): Promise<PostgresClient> {
    const client = await connectPostgres(this.#options.url, (_, lost) => this.#lose(lost))
    this.#client = client
    try {
      client.on('notification', ({ payload }) => {
        if (payload !== undefined) this.#announced.add(payload)
        this.#schedule(0)
      })
      await client.query('LISTEN gateway_keys')
      this.#version = 0
      await this.#readKeys(client)
      await this.#beat(client)
      this.#connectedAt = this.#options.steadyClock.now()
      this.#isOut = false
      return client
    } catch (error) {
      this.#lose(client)
      throw error
    }
  }

  #lose(client: PostgresClient | undefined): void {
    if (client === undefined || this.#client !== client) return
    this.#client = undefined
    void client.end()
  }

  async #readKeys(client: PostgresClient): Promise<void> {
    const before = this.#version
    const announced = this.#announced
    this.#announced = new Set()
    const { rows } = await client.query<KeyRow & { readonly version: number }>(
      'SELECT * FROM keys WHERE version > $1 OR id = ANY($2)',
      [this.#version - versionsAgain, [...announced]],
    )
    for (const row of rows) {
      this.#version = Math.max(this.#version, row.version)
      // The row may be older than what this node itself has done since; a revocation is final.
      const known = this.#options.keys.findByDigest(row.digest)
      if (known?.revokedAt === undefined) this.#options.keys.put(row.digest, keyRecord(row))
    }
    if (this.#version === before) return
    const values = [this.#options.id, this.#version]
    await client.query('UPDATE nodes SET seen_version = $2 WHERE id = $1', values)
  }

  async #beat(client: PostgresClient): Promise<void> {
    const { id, leaseMs, steadyClock } = this.#options
    const now = steadyClock.now()
    await client.query(
      `INSERT INTO nodes (id, lease_until, seen_version)
       VALUES ($1, now() + $2 * interval '1 millisecond', $3) ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until`,
      [id, leaseMs, this.#version],
    )
    this.#beatAt = now
  }
}

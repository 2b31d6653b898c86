import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { BodyBudget, BodyStore, SpoolFolder } from '../../../lib/bodies/body-store.ts'
import { outgoingBody, spliceBytes, bodyPieces } from '../../../lib/bodies/outgoing-body.ts'
import { namesIn, openBodyFiles } from '../../fixtures/spooled-files.ts'
import { until } from '../../fixtures/until.ts'

interface Kept {
  readonly path: string
  readonly folder: SpoolFolder
  readonly budget: BodyBudget
  readonly failures: Error[]
  readonly make: (memoryBytesMax: number) => BodyStore
}

function keep(t: Test, { bytesMax = 1e9, memoryBytesMax = 1e9 } = {}): Kept {
  const parent = mkdtempSync(join(tmpdir(), 'bodies-'))
  t.teardown(() => rmSync(parent, { recursive: true }))
  const path = join(parent, 'spool')
  const folder = new SpoolFolder(path)
  const budget = new BodyBudget({ bytesMax, memoryBytesMax })
  const failures: Error[] = []
  return {
    path,
    folder,
    budget,
    failures,
    make: memoryBytesMax =>
      new BodyStore({ budget, folder, onFileFailed: error => failures.push(error) }, memoryBytesMax),
  }
}

async function fill(store: BodyStore, chunks: readonly Buffer[]): Promise<void> {
  for (const chunk of chunks) await store.append(chunk)
  await store.finish()
}

async function collect(pieces: AsyncIterable<unknown>): Promise<Buffer> {
  const all: Buffer[] = []
  for await (const piece of pieces) all.push(piece as Buffer)
  return Buffer.concat(all)
}

const chunks = fc.array(
  fc.uint8Array({ maxLength: 300 }).map(bytes => Buffer.from(bytes)),
  { maxLength: 20 },
)
const edits = fc.array(fc.tuple(fc.nat(), fc.nat(9), fc.uint8Array({ maxLength: 9 })), { maxLength: 3 })

await t.test('a body reads the same from memory and from a file, with and without splices', async t => {
  const { make, budget, path } = keep(t)
  await fc.assert(
    fc.asyncProperty(
      chunks,
      fc.nat(2000),
      fc.nat(),
      fc.nat(500),
      edits,
      async (parts, limit, from, length, cuts) => {
        const whole = Buffer.concat(parts)
        const store = make(limit)
        await fill(store, parts)
        assert.equal(store.length, whole.length)
        assert.equal(store.bytes === undefined, whole.length > limit)
        assert(store.head.equals(whole))
        const position = from % (whole.length + 1)
        assert((await store.read(position, length)).equals(whole.subarray(position, position + length)))
        assert((await collect(bodyPieces(store))).equals(whole))
        const splices = cuts
          .map(([at, size, bytes]) => ({ start: at % (whole.length + 1), size, bytes: Buffer.from(bytes) }))
          .toSorted((one, other) => one.start - other.start)
          .map(({ start, size, bytes }, index, all) => ({
            start,
            end: Math.min(start + size, all[index + 1]?.start ?? whole.length, whole.length),
            bytes,
          }))
        const outgoing = outgoingBody(store, splices)
        const expected = spliceBytes(whole, splices)
        assert.equal(outgoing.length, expected.length)
        for (let attempt = 0; attempt < 2; attempt++) {
          const sent = Buffer.isBuffer(outgoing) ? outgoing : await collect(outgoing.open())
          assert(sent.equals(expected))
        }
        store.close()
        assert.deepEqual([budget.bytes, budget.memoryBytes], [0, 0])
      },
    ),
    { numRuns: 150 },
  )
  await until(() => openBodyFiles(path) === 0)
  t.same(namesIn(path), [], 'no name, no descriptor')
})

await t.test('when all bodies together fill their memory, a short one is stored in a file', async t => {
  const { make, budget } = keep(t, { memoryBytesMax: 1000 })
  const first = make(800)
  await fill(first, [Buffer.alloc(800)])
  const second = make(800)
  await fill(second, [Buffer.alloc(300)])
  t.ok(first.bytes)
  t.equal(second.bytes, undefined)
  t.equal((await second.read(0, 500)).length, 300)
  first.close()
  t.same([budget.bytes, budget.memoryBytes], [300, 0])
  second.close()
  second.close()
  t.same([budget.bytes, budget.memoryBytes], [0, 0], 'closing twice releases once')
})

await t.test('a body over the limit of all bodies is refused, and its bytes are released', async t => {
  const { make, budget } = keep(t, { bytesMax: 1000 })
  const store = make(100)
  await store.append(Buffer.alloc(900))
  t.throws(() => store.append(Buffer.alloc(101)), { code: 'overloaded', retryAfterSeconds: 1 })
  store.close()
  t.equal(budget.bytes, 0)
})

await t.test('a disk that is full refuses the body, raises the alarm and leaks nothing', async t => {
  const { budget, failures } = keep(t)
  // Every write to /dev/full fails with ENOSPC.
  const folder = { openFile: () => open('/dev/full', 'w') }
  const store = new BodyStore({ budget, folder, onFileFailed: error => failures.push(error) }, 10)
  await t.rejects(fill(store, [Buffer.alloc(500_000)]), { code: 'overloaded', retryAfterSeconds: 5 })
  store.close()
  t.match(failures, [{ code: 'ENOSPC' }])
  t.same([budget.bytes, budget.memoryBytes], [0, 0])
  await until(() => openBodyFiles('/dev/full') === 0)
})

await t.test('a folder that cannot be created opens no file, and a closed body cannot be read', async t => {
  const { make, failures, path } = keep(t)
  const blocked = new SpoolFolder(join(path, 'missing', 'folder'))
  await t.rejects(blocked.openFile(), { code: 'ENOENT' })
  const store = make(10)
  await fill(store, [Buffer.alloc(20)])
  t.same(failures, [])
  store.close()
  await t.rejects(store.read(0, 1), /closed/)
})

await t.test(
  'only the owner can open the folder, which is emptied before use and deleted at the end',
  async t => {
    const { folder, path } = keep(t)
    mkdirSync(path)
    writeFileSync(join(path, 'left-by-a-crash'), 'x')
    const handle = await folder.openFile()
    t.same(namesIn(path), [])
    t.equal(statSync(path).mode & 0o777, 0o700)
    await handle.close()
    await folder.close()
    t.notOk(existsSync(path))
  },
)

await t.test('of bodies that arrive at the same pace and do not fit together, some are accepted', t => {
  const { budget, make } = keep(t, { bytesMax: 48 })
  const stores = Array.from({ length: 12 }, () => make(100))
  const refused = new Set<BodyStore>()
  for (let step = 0; step < 20; step += 1) {
    for (const store of stores) {
      if (refused.has(store)) continue
      try {
        void store.append(Buffer.alloc(1))
      } catch (error) {
        t.match(error, { code: 'overloaded' })
        refused.add(store)
      }
    }
  }
  t.equal(stores.filter(store => store.length === 20 && !refused.has(store)).length, 2)
  t.equal(budget.bytes, 40, 'refused bodies take no bytes of the budget')
  t.end()
})

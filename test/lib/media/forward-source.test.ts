import t from 'tap'
import { ForwardSource } from '../../../lib/media/measure-upload.ts'
import { MediaUnreadableError } from '../../../lib/media/media-reader.ts'

const piece = Buffer.alloc(65_536)
const megabyte = 1_048_576

function push(source: ForwardSource, megabytes: number): void {
  for (let count = 0; count < megabytes * 16; count++) source.push(piece)
}

await t.test('a read ahead waits for its position, and bytes before it are dropped', async t => {
  const source = new ForwardSource()
  const read = source.read(30 * megabyte, 100)
  push(source, 29)
  t.ok(source.keptBytes < megabyte / 2)
  push(source, 2)
  t.equal((await read).length, 100)
  t.equal((await source.read(10, 50)).length, 50, 'the head is kept')
  await t.rejects(source.read(megabyte, 10), MediaUnreadableError, 'dropped bytes cannot be read')
})

await t.test('a slow reader loses its position, and memory stays bounded', async t => {
  const source = new ForwardSource()
  const first = source.read(0, 100)
  push(source, 1)
  await first
  push(source, 50)
  t.ok(source.keptBytes < 3 * megabyte)
  await t.rejects(source.read(megabyte, 100), MediaUnreadableError)
})

await t.test('a reader that waits for the end can read the head and the tail', async t => {
  const source = new ForwardSource()
  const size = source.size()
  push(source, 50)
  t.ok(source.keptBytes < megabyte / 2)
  source.end()
  t.equal(await size, 50 * megabyte)
  t.equal((await source.read(50 * megabyte - 1000, 2000)).length, 1000)
  t.equal((await source.read(0, 1000)).length, 1000)
})

await t.test('an abandoned source only counts bytes', async t => {
  const source = new ForwardSource()
  source.abandon()
  push(source, 3)
  t.equal(source.keptBytes, 0)
  t.equal(source.receivedBytes, 3 * megabyte)
  await t.rejects(source.read(0, 1), MediaUnreadableError)
})

await t.test('waiting reads fail when an upload breaks off', async t => {
  const source = new ForwardSource()
  const read = source.read(5, 10)
  const size = source.size()
  source.abort()
  await t.rejects(read, MediaUnreadableError)
  await t.rejects(size, MediaUnreadableError)
})

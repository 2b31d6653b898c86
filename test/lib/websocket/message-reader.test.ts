import fc from 'fast-check'
import t from 'tap'
import { Sender } from 'ws'
import { MessageReader, type Message } from '../../../lib/websocket/message-reader.ts'

/** Messages: the fragments of each, with or without pings between them. */
const messages = fc.array(
  fc.record({
    fragments: fc.array(fc.string({ unit: 'grapheme', maxLength: 300 }), { minLength: 1, maxLength: 4 }),
    ping: fc.boolean(),
  }),
  { maxLength: 6 },
)

function frame(text: string, opcode: number, isLast: boolean, mask: boolean): Buffer {
  const pieces = Sender.frame(Buffer.from(text), { fin: isLast, opcode, mask, rsv1: false, readOnly: true })
  return Buffer.concat(pieces.map(piece => Buffer.from(piece as Buffer)))
}

function readAll(reader: MessageReader, bytes: Buffer, cuts: readonly number[]): Message[] {
  const found: Message[] = []
  let start = 0
  for (const cut of [...cuts.map(part => part % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]) {
    found.push(...reader.push(bytes.subarray(start, cut)))
    start = cut
  }
  return found
}

await t.test('messages and their bytes are the same, however the bytes are cut', async t => {
  fc.assert(
    fc.property(messages, fc.array(fc.nat(), { maxLength: 12 }), fc.boolean(), (sent, cuts, isClient) => {
      const frames: Buffer[] = []
      for (const { fragments, ping } of sent) {
        for (const [index, text] of fragments.entries()) {
          const isLast = index === fragments.length - 1
          frames.push(frame(text, index === 0 ? 1 : 0, isLast, isClient))
          if (ping && !isLast) frames.push(frame('p', 9, true, isClient))
        }
      }
      const bytes = Buffer.concat(frames)
      const before = Buffer.from(bytes)
      let held = 0
      const reader = new MessageReader({
        from: isClient ? 'client' : 'provider',
        messageBytesMax: 10_000,
        onHeld: more => (held += more),
      })
      const found = readAll(reader, bytes, cuts)
      t.same(
        found.map(({ data }) => data.toString()),
        sent.map(({ fragments }) => fragments.join('')),
      )
      t.ok(Buffer.concat(found.map(message => message.frames)).equals(before), 'every byte, in order')
      t.ok(bytes.equals(before), 'the received bytes were not unmasked in place')
      t.equal(held, 0, 'nothing is held after complete messages')
    }),
    { numRuns: 60 },
  )
})

await t.test('the held bytes of a message are counted, and a message over the limit is refused', async t => {
  let held = 0
  const reader = new MessageReader({ from: 'client', messageBytesMax: 100, onHeld: more => (held += more) })
  const bytes = frame('x'.repeat(90), 1, true, true)
  t.same([...reader.push(bytes.subarray(0, 50))], [])
  t.equal(held, 50)
  const small = new MessageReader({ from: 'client', messageBytesMax: 89, onHeld: () => undefined })
  t.throws(
    () => [...small.push(bytes.subarray(0, 2))],
    /at most 89 are accepted/,
    'the header of the frame is enough',
  )
})

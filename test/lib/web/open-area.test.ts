import t from 'tap'
import { startAccountArea } from '../../fixtures/account-area.ts'
import { connectRaw, parseAnswers } from '../../fixtures/raw-client.ts'

await t.test('a network that floods the area gets pages one by one, others at once', async t => {
  const { url } = await startAccountArea(t, { trustedProxies: ['127.0.0.1'] })
  const page = (address: string): string =>
    `GET /sign-in HTTP/1.1\r\nhost: a\r\nx-forwarded-for: ${address}\r\n\r\n`
  const flood = await connectRaw(t, url)
  const answered = (): number => parseAnswers(flood.received()).length
  const sent = 500

  flood.socket.write(page('203.0.113.9').repeat(sent))
  await flood.waitFor('200 OK')
  const other = await connectRaw(t, url)
  other.socket.write(page('198.51.100.7'))
  await other.waitFor('200 OK')

  t.ok(answered() < sent, 'another network does not wait for the flood to end')
  while (answered() < sent) await new Promise(resolve => setTimeout(resolve, 50))
  t.same(
    new Set(parseAnswers(flood.received()).map(({ status }) => status)),
    new Set([200]),
    'every request of the flood is answered',
  )
})

import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { Log } from '../../../../lib/platform/log.ts'
import { createLog } from '../../../../lib/observability/log.ts'
import { openMailer } from '../../../../lib/account-area/mail/mailer.ts'
import { startMailServer } from '../../../fixtures/mail-server.ts'
import { until } from '../../../fixtures/until.ts'

const email = { to: 'a@example.org', subject: 'Привет, мир', text: 'Строка ё\n\n.точка в начале\n' }

function logTo(lines: string[]): Log {
  return createLog({ level: 'info', destination: { write: line => lines.push(line) } })
}

await t.test('an email arrives with its sender, subject, reply address and text', async t => {
  const server = await startMailServer(t)
  const mail = { url: new URL(server.url), from: 'Gateway <gateway@example.org>' }
  const mailer = openMailer({ mail, support: 'help@example.org' }, logTo([]))

  mailer.send(email)

  const received = await server.emailTo('a@example.org', /ё/)
  t.match(received, { from: 'gateway@example.org', subject: email.subject, replyTo: 'help@example.org' })
  t.equal(received.text.trim(), email.text.trim())
  await mailer.close()
})

await t.test('an email is sent again after the mail server refuses it once', async t => {
  const server = await startMailServer(t)
  const lines: string[] = []
  const mailer = openMailer(
    { mail: { url: new URL(server.url), from: 'gateway@example.org' } },
    logTo(lines),
    10,
  )
  server.refuse(1)

  mailer.send(email)

  await server.emailTo('a@example.org', /ё/)
  t.match(lines.join(''), 'could not be sent yet')
  await mailer.close()
})

await t.test('an email that the server keeps refusing is logged without its text', async t => {
  const server = await startMailServer(t)
  const lines: string[] = []
  const mailer = openMailer(
    { mail: { url: new URL(server.url), from: 'gateway@example.org' } },
    logTo(lines),
    1,
  )
  server.refuse(10)

  // The text contains a link that signs in.
  mailer.send({ ...email, text: 'https://a.example/confirm?token=hidden' })

  await until(() => lines.some(line => line.includes('an email could not be sent"')))
  t.notMatch(lines.join(''), 'hidden')
  await mailer.close()
})

await t.test('no text of a mail server is logged, at any step of the session', async t => {
  const canary = 'Quetzal-words'
  // The reply to each command; every other command is accepted.
  const servers: readonly Readonly<Record<string, string>>[] = [
    { greeting: `${canary} is no greeting` },
    { greeting: `554 ${canary}` },
    { EHLO: `500 ${canary}`, HELO: `500 ${canary}` },
    { EHLO: canary, HELO: canary },
    { EHLO: `250-AUTH PLAIN\r\n250 ${canary}`, AUTH: `535 ${canary}` },
    { EHLO: `250-AUTH PLAIN\r\n250 ${canary}`, AUTH: canary },
    { MAIL: `550 ${canary}` },
    { MAIL: canary },
    { RCPT: `550 <${canary}> is unknown` },
    { RCPT: canary },
    { DATA: `554 ${canary}` },
    { DATA: canary },
    { accepted: `554 ${canary}` },
    { accepted: canary },
  ]
  for (const replies of servers) {
    const server = createServer(socket => {
      let isText = false
      socket.on('error', () => socket.destroy())
      socket.write(`${replies['greeting'] ?? '220 test'}\r\n`)
      socket.setEncoding('latin1').on('data', (text: string) => {
        const name = text.slice(0, 4).trim()
        if (isText) {
          if (!text.endsWith('\r\n.\r\n')) return
          isText = false
          socket.write(`${replies['accepted'] ?? '250 accepted'}\r\n`)
          return
        }
        isText = name === 'DATA' && replies['DATA'] === undefined
        socket.write(`${replies[name] ?? (isText ? '354 go on' : '250 ok')}\r\n`)
      })
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const lines: string[] = []
    const url = new URL(`smtp://user:secret-password@127.0.0.1:${port}`)
    const mailer = openMailer({ mail: { url, from: 'gateway@example.org' } }, logTo(lines), 1)

    const isAccepted = await mailer.deliver({ ...email, text: 'https://a.example/confirm?token=hidden' })

    const log = lines.join('')
    t.equal(isAccepted, false, JSON.stringify(replies))
    t.match(log, 'an email could not be sent"')
    for (const secret of [canary, 'hidden', 'secret-password', btoa('secret-password').slice(0, -4)])
      t.notOk(log.includes(secret), `${JSON.stringify(replies)}: ${secret}`)
    await mailer.close()
    server.close()
  }
})

await t.test('without a mail server emails are written to the log', async t => {
  const lines: string[] = []
  const mailer = openMailer({}, logTo(lines))

  mailer.send(email)

  t.match(lines.join(''), 'точка в начале')
  await mailer.close()
})

await t.test('the reason of a mail server’s refusal is not logged, since it may quote the email', async t => {
  const secret = 'Xantippe'
  const text = `https://example.org/reset-password?token=${secret}`
  const refusals: readonly ((message: string) => string)[] = [
    message => `554 refused: ${message.replaceAll('\r\n', ' ')}`,
    message => `554-refused:\r\n554-${message.replaceAll('\r\n', '\r\n554-')}\r\n554 end`,
    message => `refused without a code: ${message.replaceAll('\r\n', ' ')}`,
    message => message,
  ]
  for (const refusal of refusals) {
    const server = await startMailServer(t)
    server.reject(refusal)
    const lines: string[] = []
    const mail = { url: new URL(server.url), from: 'gateway@example.org' }
    const mailer = openMailer({ mail }, logTo(lines), 10)

    t.equal(await mailer.deliver({ ...email, text }), false)

    const log = lines.join('')
    t.match(log, 'an email could not be sent', 'the failure is logged')
    t.notOk(log.includes(secret), log.slice(0, 500))
    await mailer.close()
  }
})

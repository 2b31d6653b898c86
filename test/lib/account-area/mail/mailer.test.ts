import t from 'tap'
import type { Log } from '../../../../lib/observability/log.ts'
import { createLog } from '../../../../lib/observability/log.ts'
import { openMailer } from '../../../../lib/account-area/mail/mailer.ts'
import { startMailServer } from '../../../fixtures/mail-server.ts'
import { until } from '../../../fixtures/until.ts'

const letter = { to: 'a@example.org', subject: 'Привет, мир', text: 'Строка ё\n\n.точка в начале\n' }

function logTo(lines: string[]): Log {
  return createLog({ level: 'info', destination: { write: line => lines.push(line) } })
}

await t.test('letters arrive as they were written', async t => {
  const server = await startMailServer(t)
  const mail = { url: new URL(server.url), from: 'Gateway <gateway@example.org>' }
  const mailer = openMailer({ mail, support: 'help@example.org' }, logTo([]))

  mailer.send(letter)

  const received = await server.letterTo('a@example.org', /ё/)
  t.match(received, { from: 'gateway@example.org', subject: letter.subject, replyTo: 'help@example.org' })
  t.equal(received.text.trim(), letter.text.trim())
  await mailer.close()
})

await t.test('a server that is away for a moment gets the letter later', async t => {
  const server = await startMailServer(t)
  const lines: string[] = []
  const mailer = openMailer(
    { mail: { url: new URL(server.url), from: 'gateway@example.org' } },
    logTo(lines),
    10,
  )
  server.refuse(1)

  mailer.send(letter)

  await server.letterTo('a@example.org', /ё/)
  t.match(lines.join(''), 'could not be sent yet')
  await mailer.close()
})

await t.test('a letter that nobody takes is logged without its text, since it holds a link', async t => {
  const server = await startMailServer(t)
  const lines: string[] = []
  const mailer = openMailer(
    { mail: { url: new URL(server.url), from: 'gateway@example.org' } },
    logTo(lines),
    1,
  )
  server.refuse(10)

  mailer.send({ ...letter, text: 'https://a.example/confirm?token=hidden' })

  await until(() => lines.some(line => line.includes('a letter could not be sent"')))
  t.notMatch(lines.join(''), 'hidden')
  await mailer.close()
})

await t.test('without a server letters are in the log', async t => {
  const lines: string[] = []
  const mailer = openMailer({}, logTo(lines))

  mailer.send(letter)

  t.match(lines.join(''), 'точка в начале')
  await mailer.close()
})

await t.test('what a mail server says of a letter is not logged: it may repeat the letter', async t => {
  const secret = 'Xantippe'
  const text = `https://example.org/reset-password?token=${secret}`
  const answers: readonly ((message: string) => string)[] = [
    message => `554 refused: ${message.replaceAll('\r\n', ' ')}`,
    message => `554-refused:\r\n554-${message.replaceAll('\r\n', '\r\n554-')}\r\n554 end`,
    message => `refused without a code: ${message.replaceAll('\r\n', ' ')}`,
    message => message,
  ]
  for (const answer of answers) {
    const server = await startMailServer(t)
    server.reject(answer)
    const lines: string[] = []
    const mail = { url: new URL(server.url), from: 'gateway@example.org' }
    const mailer = openMailer({ mail }, logTo(lines), 10)

    t.equal(await mailer.deliver({ ...letter, text }), false)

    const log = lines.join('')
    t.match(log, 'a letter could not be sent', 'the failure is logged')
    t.notOk(log.includes(secret), log.slice(0, 500))
    await mailer.close()
  }
})

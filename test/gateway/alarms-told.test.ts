import Database from 'better-sqlite3'
import t from 'tap'
import { signatureHeaders } from '../../lib/alarms/alarm-channel.ts'
import { readWebhook, webhookSecret } from '../contracts/alarm-messages.ts'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { askAs } from '../fixtures/credential-gateway.ts'
import { startMailServer } from '../fixtures/mail-server.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'
import { until } from '../fixtures/until.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const secret = 'sk-canary-0123456789'
const refused = plainAnswer(
  401,
  ['content-type', 'application/json'],
  '{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}',
)

await t.test('the signature is the one of Standard Webhooks', t => {
  // The example from its documentation.
  const headers = signatureHeaders({
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    atMs: 1_614_265_330_000,
    body: '{"test": 2432232314}',
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  })

  t.same(headers, {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
  t.end()
})

await t.test(
  'a refused credential and an unavailable store are reported by email and by webhook',
  async t => {
    const upstream = await startRawUpstream(t, () => refused)
    const receiver = await startRawUpstream(t, () => plainAnswer(204, [], ''))
    const mail = await startMailServer(t)
    const gateway = await startTestGateway(t, {
      config: callConfig(
        upstream.origin,
        { credentials: [{ name: 'main', value: secret }] },
        {
          alarms: {
            email: { to: ['ops@example.org'], mail: { url: mail.url, from: 'gateway@example.org' } },
            webhooks: { pager: { url: `${receiver.origin}/hook?token=t`, secret: webhookSecret } },
          },
        },
      ),
    })
    const delivered = () => receiver.requests.map(readWebhook)

    await askAs(gateway, openai)
    await mail.emailTo('ops@example.org', /credential_suspended/)
    await until(() => delivered().length === 1)

    const [email] = mail.emails
    t.match(email, {
      from: 'gateway@example.org',
      subject: 'Gateway: credential_suspended openai#main opened',
      text: /a provider refuses our key or its billing\nopened 20\d\d-.*\+03:00/,
    })
    t.match(delivered()[0], {
      type: 'alarm.opened',
      data: { kind: 'credential_suspended', subject: 'openai#main', count: 1, closedAt: null },
    })
    t.equal(receiver.requests[0]?.path, '/hook?token=t')
    t.notMatch(JSON.stringify([mail.emails, delivered()]), secret)

    // A write lock: the gateway can store neither the hold nor the alarm.
    const other = new Database(gateway.storeFile)
    other.exec('BEGIN IMMEDIATE')
    const asked = askAs(gateway, openai)
    await mail.emailTo('ops@example.org', /store_unavailable opened/)
    await until(() => delivered().length === 2)
    other.exec('ROLLBACK')
    other.close()
    await asked

    await mail.emailTo('ops@example.org', /store_unavailable closed/)
    await until(() => delivered().length === 3)
    t.same(
      delivered().map(({ type, data }) => `${type} ${String(data['kind'])}`),
      [
        'alarm.opened credential_suspended',
        'alarm.opened store_unavailable',
        'alarm.closed store_unavailable',
      ],
    )
    t.equal(mail.emails.length, 3)
  },
)

await t.test('an unavailable store raises no job_unanswered alarm against a provider', async t => {
  const gateway = await startTestGateway(t, { config: callConfig('http://127.0.0.1:9') })
  const other = new Database(gateway.storeFile)

  other.exec('BEGIN IMMEDIATE')
  const log = () => gateway.logLines.join('')
  await until(() => log().includes('the store could not be asked about jobs'))
  other.exec('ROLLBACK')
  other.close()

  t.notMatch(log(), 'job_unanswered')
})

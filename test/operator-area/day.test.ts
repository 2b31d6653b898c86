import t from 'tap'
import { startOperatorArea } from '../fixtures/operator-area.ts'

const area = await startOperatorArea(t, {
  payments: { provider: 'sandbox' },
  models: {
    chat: {
      provider: 'sandbox',
      upstreamModel: 'sandbox-chat',
      rubPerMillion: { input: '1000', output: '1000' },
    },
  },
})
const { browser: customer, email } = await area.signUp()
const id = await area.accountOf(email)
const { id: keyId, key } = await area.test.accounts.createKey({ accountId: id, name: 'laptop' })
const desk = await area.operator('owner')
const from = `/customers/${id}`

async function ask(): Promise<{ status: number; requestId: string; text: string }> {
  const answer = await fetch(`${area.test.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  const requestId = answer.headers.get('x-gateway-request-id') ?? ''
  return { status: answer.status, requestId, text: await answer.text() }
}

async function balance(): Promise<string> {
  const { stdout } = await area.run('balance', '--account', id, '--json')
  return (JSON.parse(stdout) as { balance: string }).balance
}

/** Sends a form of the customer's page. */
function act(name: string, fields: Readonly<Record<string, string>>) {
  return desk.post(`/customers/${id}/${name}`, fields, { from })
}

await t.test('a customer is found by the details that customers give to support', async t => {
  for (const q of [email, email.slice(0, 8).toUpperCase(), id, keyId, key.slice(-4)]) {
    t.match((await desk.get(`/customers?q=${encodeURIComponent(q)}`)).text, `href="/customers/${id}"`, q)
  }
  for (const q of ['%', '_', "' OR 1=1 --", '\\', '<script>']) {
    const { status, text } = await desk.get(`/customers?q=${encodeURIComponent(q)}`)
    t.equal(status, 200, q)
    t.notMatch(text, `href="/customers/${id}"`, q)
    t.notMatch(text, '<script>')
  }
  t.match((await desk.get('/customers?q=')).text, `href="/customers/${id}"`, 'an empty search lists all')
  t.equal((await desk.get(`/customers?q=${'a'.repeat(8000)}`)).status, 422)
  t.equal((await desk.get('/customers/nobody')).status, 404)
})

await t.test('a form credits money once however often it is sent, and debits what is there', async t => {
  const formId = /name="formId" value="([^"]+)"/.exec((await desk.get(from)).text)?.[1] ?? ''
  const form = { formId, rub: '100,50', reason: 'счёт 17 <b>' }
  t.equal((await act('credit', form)).location, `${from}?notice=done`)
  t.equal((await act('credit', form)).location, `${from}?notice=done-before`)
  t.equal(await balance(), '100.500000')
  t.match((await customer.get('/balance')).text, 'счёт 17 &lt;b&gt;')

  const much = await act('debit', { formId: '', rub: '100.51', reason: 'ошибка' })
  t.equal(much.status, 422)
  t.match(much.text, 'Столько снять нельзя. Доступно: 100,50')
  t.match(much.text, 'value="100.51"', 'what was typed stays')
  for (const rub of ['', '0', '-1', 'сто', '1.0000001']) {
    t.equal((await act('credit', { rub, reason: 'r' })).status, 422, rub)
  }
  t.equal((await act('credit', { rub: '1', reason: ' ' })).status, 422)
  t.equal(await balance(), '100.500000')
})

await t.test('notes are stored once, with their author, for operators only and unchanged', async t => {
  const support = await area.operator('support')
  const page = await support.get(from)
  const formId = /name="formId" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
  const note = { formId, note: 'Просил счёт <b>до</b> пятницы' }
  t.equal((await support.post(`${from}/note`, note, { from })).location, `${from}?notice=done`)
  t.equal((await support.post(`${from}/note`, note, { from })).location, `${from}?notice=done-before`)
  for (const text of ['', ' ', 'a'.repeat(1001)]) {
    t.equal((await support.post(`${from}/note`, { formId: '', note: text }, { from })).status, 422)
  }
  t.equal((await support.post('/customers/nobody/note', note, { from: '/' })).status, 404)

  const { text } = await desk.get(from)
  t.equal(text.split('Просил счёт &lt;b&gt;до&lt;/b&gt; пятницы').length, 2)
  t.match(text, 'обработка персональных данных')
  for (const path of ['/', '/balance', '/settings']) t.notMatch((await customer.get(path)).text, 'Просил')
})

await t.test('forms without an id of their own are each accepted', async t => {
  const ids = async () => /name="formId" value="([^"]+)"/.exec((await desk.get(from)).text)?.[1] ?? ''
  await act('credit', { formId: await ids(), rub: '1', reason: 'one' })
  await act('credit', { formId: await ids(), rub: '1', reason: 'one' })
  t.equal(await balance(), '102.500000')
})

await t.test('a charge is corrected, and the customer sees it', async t => {
  const { status, requestId } = await ask()
  t.equal(status, 200)
  t.match((await desk.get(from)).text, requestId)
  const paid = await balance()
  t.not(paid, '102.500000')

  t.equal(
    (await act('correct', { request: requestId, rub: '0', reason: 'пустой ответ' })).location,
    `${from}?notice=done`,
  )

  t.equal(await balance(), '102.500000')
  t.match((await customer.get(`/charges/${requestId}`)).text, 'Возвращено')
  t.equal((await act('correct', { request: requestId, rub: '0', reason: 'ещё раз' })).status, 422)
  t.equal((await act('correct', { request: 'x', rub: '0', reason: 'r' })).status, 422)
  t.equal((await act('correct', { request: requestId, turn: '-1', rub: '0', reason: 'r' })).status, 422)
})

await t.test(
  'of two operators who correct one charge at once, one does, and the other is refused',
  async t => {
    const { requestId } = await ask()
    const [paid, before] = [await balance(), (await area.run('operator', 'log', '--json')).stdout]
    const other = await area.operator('finance')

    const answers = await Promise.all(
      [desk, other].map((one, index) =>
        one.post(`${from}/correct`, { request: requestId, rub: '0', reason: `оператор ${index}` }, { from }),
      ),
    )

    t.same(
      answers.map(({ status }) => status).toSorted((one, two) => one - two),
      [303, 422],
    )
    t.match(answers.find(({ status }) => status === 422)?.text, requestId)
    t.not(await balance(), paid)
    t.equal(await balance(), '102.500000', 'refunded once')
    const after = (await area.run('operator', 'log', '--action', 'correct', '--json')).stdout
    t.equal(after.split(requestId).length, 2, 'one line in the log')
    t.notMatch(before, requestId)
    t.same(await area.verify(), [])
  },
)

await t.test('a block refuses the keys at once, with an explanation, until it is ended', async t => {
  t.equal((await act('block', { reason: 'украденная карта' })).location, `${from}?notice=done`)
  const refused = await ask()
  t.equal(refused.status, 403)
  t.match(refused.text, 'The account of this API key is blocked.')
  t.match((await desk.get(from)).text, `action="/customers/${id}/unblock"`)

  t.equal((await act('unblock', { reason: 'разобрались' })).location, `${from}?notice=done`)
  t.equal((await ask()).status, 200)
})

await t.test('limits of a key are changed with a reason, as by command', async t => {
  const path = `${from}/keys/${keyId}`
  const form = {
    name: 'laptop',
    budget: '150,50',
    period: 'day',
    models: 'chat',
    addresses: '203.0.113.0/24',
    expires: '2999-01-31',
    reason: 'просьба',
  }
  for (const wrong of [
    { reason: '' },
    { budget: '-1' },
    { models: 'chta' },
    { addresses: '300.0.0.1' },
    { addresses: 'a'.repeat(10_001) },
    { expires: '2020-01-31' },
    { expires: '2999-02-31' },
    { expires: 'soon' },
  ]) {
    t.equal(
      (await desk.post(path, { ...form, ...wrong }, { from: path })).status,
      422,
      JSON.stringify(wrong).slice(0, 40),
    )
  }
  t.equal((await ask()).status, 200, 'nothing changed yet')
  t.equal((await desk.post(path, form, { from: path })).location, `${from}?notice=done`)
  t.equal((await ask()).status, 403, 'from another address')
  const shown = async () => {
    const { stdout } = await area.run('key', 'find', keyId, '--json')
    const { budget, budgetPeriod, models, ipAddresses, expiresAt } = JSON.parse(stdout) as Record<
      string,
      unknown
    >
    return { budget, budgetPeriod, models, ipAddresses, expiresAt }
  }
  t.same(await shown(), {
    budget: '150.500000',
    budgetPeriod: 'day',
    models: ['chat'],
    ipAddresses: ['203.0.113.0/24'],
    expiresAt: '2999-01-31T21:00:00.000Z',
  })
  const edited = await desk.get(path)
  t.match(edited.text, 'value="150,5"')

  t.match(edited.text, 'value="2999-01-31"')

  const words = ['--budget-rub', 'none', '--models', 'none', '--ips', 'none', '--expires', 'none']
  await area.run('key', 'edit', keyId, ...words, '--reason', 'вернули')
  const none = { budget: null, budgetPeriod: null, models: null, ipAddresses: null, expiresAt: null }
  t.same(await shown(), none)
  t.equal((await ask()).status, 200)
  const { text } = await desk.get('/log?action=edit-key')
  t.match(
    text,
    `${keyId}: модели: chat; бюджет: 150,50\u00a0₽ на день; срок: 01.02.2999, 00:00\u00a0МСК; адреса: 203.0.113.0/24 (просьба`,
  )
  t.match(
    text,
    `${keyId}: модели: без ограничения; бюджет: без ограничения; срок: без ограничения; адреса: без ограничения (вернули)`,
  )
  t.equal((await desk.get(`/customers/nobody/keys/${keyId}`)).status, 404)
})

await t.test('sessions of a customer are ended', async t => {
  t.equal((await customer.get('/balance')).status, 200)
  await act('end-sessions', { reason: 'чужой вход' })
  t.match((await customer.get('/balance')).location, '/sign-in')
  const form = { reason: 'никого нет' }
  t.equal((await desk.post('/customers/nobody/end-sessions', form, { from: '/' })).status, 404)
  const { text } = await desk.get('/log?action=end-sessions')
  t.match(text, 'чужой вход')
  t.notMatch(text, form.reason)
})

await t.test('a payment is refunded as far as its money is unspent', async t => {
  const made = await area.run('payment', 'create', '--account', id, '--rub', '500', '--json')
  const { id: payment, confirmationUrl } = JSON.parse(made.stdout) as { id: string; confirmationUrl: string }
  const path = `/payments/${payment}`
  t.match((await desk.get('/payments?state=pending')).text, payment)
  t.equal(
    (await desk.post(`${path}/refund`, { rub: '1', reason: 'r' }, { from: path })).status,
    422,
    'not paid yet',
  )
  await fetch(confirmationUrl, { method: 'POST', body: new URLSearchParams({ pay: 'bank_card' }) })
  await area.run('payment', 'reconcile', '--days', '1')
  t.equal(JSON.parse((await area.run('payment', 'show', payment, '--json')).stdout).status, 'succeeded')

  const much = await desk.post(`${path}/refund`, { rub: '500.01', reason: 'много' }, { from: path })
  t.equal(much.status, 422)
  const done = await desk.post(`${path}/refund`, { rub: '200', reason: 'по просьбе' }, { from: path })
  t.equal(done.location, `${path}?notice=done`)
  t.match((await desk.get(path)).text, 'по просьбе')

  await area.run('payment', 'create', '--account', id, '--rub', '500', '--method', 'sbp')
  t.match((await desk.get('/payments?state=pending')).text, '>СБП<')
})

await t.test('all actions are in the log, and the ledger is in order', async t => {
  const { text } = await desk.get('/log')
  for (const word of [
    'зачисление',
    'исправление списания',
    'блокировка',
    'снятие блокировки',
    'завершение сеансов',
    'возврат платежа',
    '100,50\u00a0₽: счёт 17 &lt;b&gt;',
    '→ 0,00\u00a0₽: пустой ответ',
    '200,00\u00a0₽: по просьбе',
    '@desk.example',
  ]) {
    t.match(text, word)
  }
  t.notMatch(text, / from \d| to \d|\d\.\d{6} ₽/, "none of the gateway's texts and amounts is in English")
  t.match((await desk.get('/')).text, 'Списано за запросы')
  t.match((await desk.get('/prices?q=chat')).text, />1\s000</)
  t.same(await area.verify(), [])
})

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { statementOf } from '../contracts/documents.ts'
import { company, sellerSection } from '../fixtures/companies.ts'
import { startOperatorArea } from '../fixtures/operator-area.ts'

const area = await startOperatorArea(t, { payments: { provider: 'sandbox' }, seller: sellerSection })
const { accounts } = area.test
const names: Readonly<Record<number, string>> = { 7: '=1+1;@SUM', 8: '100%_\\off' }
const ids: string[] = []
for (let index = 0; index < 52; index += 1) {
  const email = `customer-${String(index).padStart(2, '0')}@shop.example`
  const { id } = await accounts.createAccount({ email, name: names[index] ?? `Shop ${index}` })
  await accounts.credit({ accountId: id, amountMicros: (index + 1) * 1_000_000_000_000, reason: 'start' })
  ids.push(id)
}
const desk = await area.operator('support')
const owner = await area.operator('owner')
const lists = ['/customers', '/requests', '/payments', '/transfers', '/documents', '/alarms', '/log']

function rowsOf(text: string): readonly string[] {
  return [...text.matchAll(/<tr>[\s\S]*?<\/tr>/g)].map(([row]) => row).slice(1)
}

function emailsOf(text: string): readonly string[] {
  return rowsOf(text).map(row => /customer-\d\d@shop\.example/.exec(row)?.[0] ?? '')
}

await t.test('a list is sorted and paged by its URL', async t => {
  const first = await desk.get('/customers?q=shop.example&sort=balance&order=desc')
  t.equal(rowsOf(first.text).length, 50)
  t.same(emailsOf(first.text).slice(0, 2), ['customer-51@shop.example', 'customer-50@shop.example'])
  t.match(first.text, 'page=2')
  const second = await desk.get('/customers?q=shop.example&sort=balance&order=desc&page=2')
  t.same(emailsOf(second.text), ['customer-01@shop.example', 'customer-00@shop.example'])
  t.notMatch(second.text, 'page=3')
  const byEmail = await desk.get('/customers?q=shop.example&sort=email&order=asc')
  t.equal(emailsOf(byEmail.text)[0], 'customer-00@shop.example')
  t.match((await desk.get('/customers')).text, 'sort=created&amp;order=asc', 'its default sort, reversed')
})

await t.test('filters narrow a list, and its pages and table keep them', async t => {
  const { text } = await desk.get('/customers?q=shop.example&sort=balance&order=asc')
  t.equal(rowsOf(text).length, 50)
  t.match(text, '/customers.csv?q=shop.example')
  t.match(text, 'q=shop.example&amp;sort=balance&amp;order=asc&amp;page=2')
  for (const q of ['%', '_', '\\', '%_\\', '100%_']) {
    const found = emailsOf((await desk.get(`/customers?q=${encodeURIComponent(q)}`)).text)
    t.same(found, ['customer-08@shop.example'], `${q} is matched literally`)
  }
  t.equal(rowsOf((await desk.get('/customers?state=blocked')).text).length, 0)
  await accounts.setBlocked({ accountId: ids[3] ?? '', isBlocked: true, reason: 'r', operator: 'o' })
  t.same(emailsOf((await desk.get('/customers?state=blocked')).text), ['customer-03@shop.example'])
})

await t.test(
  'unknown parameters of a list are ignored, or refused with an explanation, and never fail',
  async t => {
    for (const path of lists) {
      for (const words of [
        'page=0',
        'page=-1',
        'page=x',
        'page=1e99',
        'page=1.5',
        'sort=password',
        'order=up',
      ]) {
        t.equal((await desk.get(`${path}?${words}`)).status, 200, `${path}?${words}`)
      }
      t.equal((await desk.get(`${path}?page=9999999`)).status, 200)
    }
    for (const [path, name] of [
      ['/customers', 'q'],
      ['/requests', 'model'],
      ['/payments', 'account'],
      ['/transfers', 'q'],
      ['/documents', 'month'],
      ['/log', 'operator'],
    ] as const) {
      for (const q of ['%%', '__', "'", '<script>', '💥'.repeat(90)]) {
        const { status, text } = await desk.get(`${path}?${name}=${encodeURIComponent(q)}`)
        t.equal(status, 200, `${path} ${q}`)
        t.equal(rowsOf(text).length, 0, `${path} ${q}`)
        t.notMatch(text, '<script>')
      }
      for (const table of ['', '.csv']) {
        const { status, text } = await desk.get(`${path}${table}?${name}=${'a'.repeat(8000)}`)
        t.equal(status, 422, path)
        t.match(text, '200')
      }
      t.equal(
        (await desk.get(`${path}?${name}=${'a'.repeat(64 * 1024)}`)).status,
        431,
        'no address is so long',
      )
    }
  },
)

await t.test('an unknown choice or day lists nothing, and the page says so', async t => {
  for (const [address, label] of [
    ['/customers?state=%27%20OR%201=1--', 'Состояние'],
    ['/requests?outcome=x', 'Исход'],
    ['/payments?state=x', 'Состояние'],
    ['/transfers?state=x', 'Состояние'],
    ['/documents?state=x', 'Состояние'],
    ['/alarms?state=x', 'Состояние'],
    ['/log?action=dance', 'Что'],
    ['/log?action=toString', 'Что'],
    ['/log?from=2020-02-31', 'С дня'],
    ['/payments?to=yesterday', 'По день'],
  ] as const) {
    const { status, text } = await desk.get(address)
    t.equal(status, 422, address)
    t.match(text, `<p class="notice bad" role="alert">У фильтра «${label}» нет такого значения.</p>`)
    t.same(rowsOf(text), [], address)
    const table = await desk.get(address.replace('?', '.csv?'))
    t.equal(table.status, 422, address)
    t.equal(table.text, `У фильтра «${label}» нет такого значения.`)
  }
})

await t.test('a table for spreadsheets has all rows, and no cell is a formula', async t => {
  const { status, text, headers } = await desk.get('/customers.csv?sort=balance&order=asc')
  t.equal(status, 200)
  t.match(headers['content-type'], 'text/csv')
  t.match(headers['content-disposition'], /attachment; filename="customers-\d{4}-\d\d-\d\d\.csv"/)
  const lines = text.trimEnd().split('\r\n')
  t.ok(lines.length > 53, 'more than a page has')
  t.ok(lines.some(line => line.includes(';1000000,000000;')))
  t.match(text, `"'=1+1;'@SUM"`)
  for (const path of lists) t.equal((await desk.get(`${path}.csv`)).status, 200, path)
})

await t.test('transfers that wait are shown first, and the others by their state', async t => {
  const file = join(t.testdir({}), 'kl_to_1c.txt')
  writeFileSync(
    file,
    statementOf([{ number: '41', date: '2026-11-20', amount: 70_000, purpose: 'за услуги' }]),
  )
  await area.run('statement', 'import', file)
  const [row = ''] = rowsOf((await owner.get('/transfers')).text)
  const path = /action="(\/transfers\/[^/"]+)\/assign"/.exec(row)?.[1] ?? ''
  t.equal(rowsOf((await desk.get('/transfers?state=credited')).text).length, 0)
  t.equal(row.split('name="note"').length, 3, 'each decision has a field for its reason')
  const account = ids[0] ?? ''
  const long = await owner.post(`${path}/assign`, { account, note: 'a'.repeat(501) }, { from: '/transfers' })
  t.equal(long.status, 422)
  await owner.post(`${path}/assign`, { account, note: 'письмо клиента' }, { from: '/transfers' })
  t.match((await owner.get('/log?action=assign-transfer')).text, 'письмо клиента')
  t.match((await owner.get('/transfers?state=credited')).text, 'name="note"', 'also to undo it')
  t.equal(rowsOf((await desk.get('/transfers')).text).length, 0)
  t.match(rowsOf((await desk.get('/transfers?state=credited')).text)[0], ids[0])
  t.match((await desk.get('/transfers.csv?state=all')).text, ';700,000000;')
  t.same(await area.verify(), [])
})

await t.test('a transfer without its invoice is assigned to it by number, and pays it', async t => {
  const account = ids[1] ?? ''
  const details = join(t.testdir({}), 'company.json')
  writeFileSync(details, JSON.stringify(company))
  await area.run('account', 'company', account, '--set', details)
  const made = await area.run('invoice', 'create', '--account', account, '--rub', '500.00', '--json')
  const { number } = JSON.parse(made.stdout) as { number: string }
  const file = join(t.testdir({}), 'kl_to_1c.txt')
  const transfer = { number: '42', date: '2026-11-21', amount: 50_000, inn: company.inn, purpose: 'аванс' }
  writeFileSync(file, statementOf([transfer]))
  await area.run('statement', 'import', file)
  const from = '/transfers'
  const [row = ''] = rowsOf((await owner.get(from)).text)
  t.match(row, 'name="invoice"')
  const path = /action="(\/transfers\/[^/"]+\/assign)"/.exec(row)?.[1] ?? ''

  const unknown = await owner.post(path, { account, invoice: `${number}9`, note: '' }, { from })
  t.equal(unknown.status, 422)
  t.match(unknown.text, `Счёта на оплату ${number}9 нет, либо он уже оплачен или отменён.`)
  await owner.post(path, { account, invoice: ` №${number} `, note: '' }, { from })

  const listed = await area.run('invoice', 'list', '--account', account, '--json')
  t.match(JSON.parse(listed.stdout), { number, paid: '500.00', state: 'paid' })
  t.match((await area.run('account', 'show', account)).stdout, '2000500')
  t.same(await area.verify(), [])
})

await t.test('payments and the log are filtered by days, in either order', async t => {
  for (const rub of ['100', '200'])
    await area.run('payment', 'create', '--account', ids[0] ?? '', '--rub', rub)
  const today = new Date(Date.now() + 3 * 3_600_000).toISOString().slice(0, 10)
  for (const path of ['/payments', '/log']) {
    const all = rowsOf((await desk.get(path)).text).length
    t.ok(all > 0, path)
    t.equal(rowsOf((await desk.get(`${path}?from=${today}&to=${today}`)).text).length, all, path)
    t.equal(rowsOf((await desk.get(`${path}?from=2999-01-31`)).text).length, 0, path)
    t.equal(rowsOf((await desk.get(`${path}?to=2020-01-31`)).text).length, 0, path)
    const { text } = await desk.get(`${path}?from=${today}&sort=at&order=asc`)
    const cellsOf = (row: string): string => row.replaceAll(/<(?:input|form)[^>]*>/g, '')
    t.same(
      rowsOf(text).map(cellsOf),
      rowsOf((await desk.get(path)).text)
        .map(cellsOf)
        .toReversed(),
      'in reverse',
    )
    t.match(text, new RegExp(`name="from"\\s+type="date"\\s+value="${today}"`))
    t.match(text, `from=${today}&amp;sort=at&amp;order=desc`)
  }
  for (const sort of ['first', 'last', 'times', 'state'])
    t.match((await desk.get(`/alarms?sort=${sort}`)).text, /<h1>/, sort)
})

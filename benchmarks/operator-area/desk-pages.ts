type Pages = Readonly<Record<string, string>>

/** The query for days, beginning this many days ago. */
type During = (daysBack: number, count?: number) => string

/** Every page of the operators, and the most expensive queries. */
export function deskPages(rows: number, now: number): Pages {
  const day = (daysBack: number): string => new Date(now - daysBack * 86_400_000).toISOString().slice(0, 10)
  const during: During = (daysBack, count = 1) => `from=${day(daysBack)}&to=${day(daysBack - count + 1)}`
  const requestId = String(rows - 1000).padStart(26, '0')
  return {
    ...customerPages(requestId),
    ...requestPages(requestId, during),
    ...moneyPages(during),
    ...housePages(during),
  }
}

function customerPages(requestId: string): Pages {
  return {
    today: '/',
    customers: '/customers',
    'customers, a part of an address': '/customers?q=customer-1234',
    'customers, nothing found': '/customers?q=nobody%25',
    'customers, a key by its ending': '/customers?q=1234',
    'customers, an INN': '/customers?q=7700000017',
    'customers, a request': `/customers?q=${requestId}`,
    'a customer with a tenth of all charges': '/customers/account-000000',
    'a small customer': '/customers/account-019999',
    'what a deletion would do': '/customers/account-000000/delete',
    'customers by balance': '/customers?sort=balance&order=desc',
    'customers by address': '/customers?sort=email',
    'customers, the last page': '/customers?page=200',
    'customers who are blocked': '/customers?state=blocked',
    'customers in debt': '/customers?state=indebted',
    'a part of an address, by balance': '/customers?q=customer-1&sort=balance',
    'the editing of a key': '/customers/account-000000/keys/key-0',
    'movements of a customer who is charged much': '/movements?account=account-000000',
    'movements of a customer who pays much': '/movements?account=account-000001',
    'movements, the last page': '/movements?account=account-000001&page=200',
  }
}

function requestPages(requestId: string, during: During): Pages {
  return {
    requests: '/requests',
    'requests, the last page': '/requests?page=200',
    'requests, of an account and an outcome': '/requests?account=account-000000&outcome=refused',
    'requests, of a model that nobody used': '/requests?model=nothing',
    'requests, the oldest first': '/requests?order=asc',
    'requests of a day': `/requests?${during(90)}`,
    'requests of a day, refused': `/requests?${during(90)}&outcome=refused`,
    'requests of a quarter, of a small customer': `/requests?account=account-019999&${during(90, 90)}`,
    'requests of a model and an outcome': '/requests?model=model-3&outcome=aborted',
    'a request': `/requests?request=${requestId}`,
  }
}

function moneyPages(during: During): Pages {
  return {
    payments: '/payments',
    'payments by amount': '/payments?sort=amount',
    'payments of a state': '/payments?state=canceled',
    'payments of a state that none has': '/payments?state=pending',
    'payments of a day': `/payments?${during(90)}`,
    'payments of a day, by amount': `/payments?${during(170)}&sort=amount`,
    'payments of a day, canceled': `/payments?${during(170)}&state=canceled`,
    'payments before all days': '/payments?to=2001-01-01',
    'payments that differ': '/payments?state=differing',
    'payments of a customer': '/payments?account=account-000007',
    'payments, the last page': '/payments?page=200',
    'a payment': `/payments/payment-${String(5).padStart(26, '0')}`,
    transfers: '/transfers',
    'transfers of any state, by amount': '/transfers?state=all&sort=amount',
    'transfers, a search': '/transfers?state=all&q=Клиент',
    'transfers, nothing found': '/transfers?state=all&q=nobody',
  }
}

function housePages(during: During): Pages {
  return {
    documents: '/documents',
    providers: '/providers',
    alarms: '/alarms',
    'alarms, closed ones too, by times': '/alarms?state=all&sort=times',
    prices: '/prices',
    'the history of a model': '/prices/history?model=sandbox-chat',
    'the preview of prices': '/prices/preview',
    log: '/log',
    'log, the oldest first': '/log?order=asc',
    'log of a day': `/log?${during(90)}`,
    'log of a customer': '/log?account=account-000007',
    'log of an operator': '/log?operator=pavel@example.org',
    'log, an action that is rare': '/log?action=block',
    'log, an action that nobody did': '/log?action=close-month',
    'log of an operator that nobody is': `/log?operator=nobody@example.org&${during(90, 90)}`,
    'log, the last page': '/log?page=200',
    security: '/security',
  }
}

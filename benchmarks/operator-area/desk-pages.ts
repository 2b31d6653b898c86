/** Every page of the operators, and the questions that are hardest to answer. */
export function deskPages(rows: number): Readonly<Record<string, string>> {
  const requestId = String(rows - 1000).padStart(26, '0')
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
    requests: '/requests',
    'requests, the last page': '/requests?page=200',
    'requests, of an account and an outcome': '/requests?account=account-000000&outcome=refused',
    'requests, of a model that nobody used': '/requests?model=nothing',
    payments: '/payments',
    'payments by amount': '/payments?sort=amount',
    'payments of a state': '/payments?state=pending',
    'a payment': `/payments/payment-${String(5).padStart(26, '0')}`,
    transfers: '/transfers',
    documents: '/documents',
    providers: '/providers',
    alarms: '/alarms',
    prices: '/prices',
    'the history of a model': '/prices/history?model=sandbox-chat',
    log: '/log',
    security: '/security',
  }
}

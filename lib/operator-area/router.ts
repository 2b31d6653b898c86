import type { BlockList } from 'node:net'
import { Hono } from 'hono'
import { createMiddleware } from 'hono/factory'
import { findOperator } from '../administration/operators.ts'
import { LedgerUnavailableError } from '../ledger/ledger.ts'
import { statementBytesMax } from '../statements/statement.ts'
import { StoreError } from '../stores/shared/store-error.ts'
import {
  formMiddleware,
  ownFormsOnly,
  pageMiddleware,
  sessionMiddleware,
} from '../web/http/page-middleware.ts'
import type { AreaSession } from '../web/http/page-middleware.ts'
import { seeOther, toSignIn } from '../web/http/redirect.ts'
import { securityHeaders } from '../web/http/security-headers.ts'
import { submitAppearance } from '../web/pages/appearance.ts'
import { showFailure } from '../web/pages/failure.ts'
import { showSecondStep, submitSecondStep } from '../web/pages/second-step.ts'
import { routeSecurity } from '../web/pages/security/route-security.ts'
import { showSignIn, submitSignIn, submitSignOut } from '../web/pages/sign-in.ts'
import type { PageContext, PageEnv, SignedInPage, WebPage } from '../web/web-page.ts'
import { logRefusals } from './log-refusals.ts'
import { may } from './page.ts'
import type { DeskPage, DeskSite, Page, Permission, ShowDeskPage } from './page.ts'
import { alarmList, showAlarms, submitCloseAlarm, submitTake } from './pages/alarms.ts'
import {
  submitBlock,
  submitCorrection,
  submitCredit,
  submitDebit,
  submitEndSessions,
  submitNote,
  submitUnblock,
} from './pages/customer-actions.ts'
import { showCustomer } from './pages/customer.ts'
import { customerList, showCustomers } from './pages/customers.ts'
import { showDeleteCustomer, submitDeleteCustomer } from './pages/delete-customer.ts'
import { documentList, showDocuments, submitClose } from './pages/documents.ts'
import { showEditKey, submitEditKey } from './pages/edit-key.ts'
import { actionList, showLog } from './pages/log.ts'
import { movementList, showMovements } from './pages/movements.ts'
import { paymentList, showPayment, showPayments, submitRefund } from './pages/payments.ts'
import { showPreview, submitPreview } from './pages/preview-prices.ts'
import { showPriceHistory } from './pages/price-history.ts'
import { showPrices, submitAcceptRate } from './pages/prices.ts'
import { showProviders, submitPause, submitResume, submitTry } from './pages/providers.ts'
import { requestList, showRequests } from './pages/requests.ts'
import { showSetPassword, submitSetPassword } from './pages/set-password.ts'
import { showToday } from './pages/today.ts'
import { downloadList } from './view/desk-list.ts'
import type { DeskList } from './view/desk-list.ts'
import {
  showTransfers,
  submitAssign,
  submitReturn,
  submitStatement,
  submitUndo,
  transferList,
} from './pages/transfers.ts'

const formBytesMax = 64 * 1024

function pageOf(context: PageContext): Page {
  return context.get('page') as Page
}

/** The role of a session, as it is now; forms are good for that role alone. */
async function roleOfSession(context: PageContext, { session }: SignedInPage): Promise<AreaSession> {
  const role = (await findOperator(pageOf(context).site.records, session.user.id))?.role
  return { more: { role }, boundTo: role }
}

/** A page for anybody. */
function open(show: (context: PageContext, page: Page) => Response | Promise<Response>) {
  return (context: PageContext) => show(context, pageOf(context))
}

/** A page for an operator who is signed in, also before the second factor is set up. */
function signedIn(show: (context: PageContext, page: SignedInPage) => Response | Promise<Response>) {
  return (context: PageContext) => {
    const page = pageOf(context)
    const { session, role } = page
    if (session === undefined || role === undefined) return toSignIn(context, page)
    return show(context, { ...page, session })
  }
}

/** A page for operators who have a second factor, and whose role may do this. */
function desk(permission: Permission, show: ShowDeskPage) {
  return (context: PageContext) => {
    const page = pageOf(context)
    const { session, role } = page
    if (session === undefined || role === undefined) return toSignIn(context, page)
    if (!session.user.hasTwoFactor) return seeOther(context, '/security?notice=second-factor-needed')
    if (!may(role, permission)) return showFailure(context, page, 'denied')
    return show(context, { ...page, session, role })
  }
}

/** Answers a form before it is read where its sender may not send it. */
function beforeReading(permission: Permission) {
  return createMiddleware<PageEnv>(async (context, next) => {
    const refused = await desk(permission, () => next().then(() => context.res))(context)
    if (refused !== context.res) context.header('connection', 'close')
    return refused
  })
}

/** The desk: every page and form of it, with what its reader must be allowed. */
function routeDesk(router: Hono<PageEnv>): void {
  const list = <Row>(path: string, show: ShowDeskPage, makeList: (page: DeskPage) => DeskList<Row>): void => {
    router.get(path, desk('look', show))
    router.get(`${path}.csv`, desk('look', downloadList(makeList)))
  }
  router.get('/', desk('look', showToday))
  list('/alarms', showAlarms, alarmList)
  router.post('/alarms/:id/take', desk('note', submitTake))
  router.post('/alarms/:id/close', desk('note', submitCloseAlarm))
  list('/customers', showCustomers, customerList)
  router.get('/customers/:id', desk('look', showCustomer))
  router.post('/customers/:id/note', desk('note', submitNote))
  router.post('/customers/:id/credit', desk('money', submitCredit))
  router.post('/customers/:id/debit', desk('money', submitDebit))
  router.post('/customers/:id/correct', desk('money', submitCorrection))
  router.post('/customers/:id/block', desk('manage', submitBlock))
  router.post('/customers/:id/unblock', desk('manage', submitUnblock))
  router.post('/customers/:id/end-sessions', desk('manage', submitEndSessions))
  router.get('/customers/:id/keys/:key', desk('manage', showEditKey))
  router.post('/customers/:id/keys/:key', desk('manage', submitEditKey))
  router.get('/customers/:id/delete', desk('manage', showDeleteCustomer))
  router.post('/customers/:id/delete', desk('manage', submitDeleteCustomer))
  list('/movements', showMovements, movementList)
  list('/requests', showRequests, requestList)
  list('/payments', showPayments, paymentList)
  router.get('/payments/:id', desk('look', showPayment))
  router.post('/payments/:id/refund', desk('money', submitRefund))
  list('/transfers', showTransfers, transferList)
  router.post('/transfers/import', desk('money', submitStatement))
  router.post('/transfers/:id/assign', desk('money', submitAssign))
  router.post('/transfers/:id/return', desk('money', submitReturn))
  router.post('/transfers/:id/undo', desk('money', submitUndo))
  list('/documents', showDocuments, documentList)
  router.post('/documents/close', desk('money', submitClose))
  router.get('/providers', desk('look', showProviders))
  router.post('/providers/:name/pause', desk('manage', submitPause))
  router.post('/providers/:name/resume', desk('manage', submitResume))
  router.post('/providers/:name/try', desk('manage', submitTry))
  router.get('/prices', desk('look', showPrices))
  router.get('/prices/history', desk('look', showPriceHistory))
  router.get('/prices/preview', desk('manage', showPreview))
  router.post('/prices/preview', desk('manage', submitPreview))
  router.post('/prices/accept', desk('manage', submitAcceptRate))
  list('/log', showLog, actionList)
}

/** The map of the operators' pages. */
export function createRouter(site: DeskSite, trusted: BlockList): Hono<PageEnv> {
  const router = new Hono<PageEnv>()
  router.use(securityHeaders(site.publicUrl.protocol === 'https:'))
  for (const asset of Object.values(site.assets)) {
    router.get(asset.path, context =>
      context.body(asset.body, 200, {
        'content-type': asset.type,
        'cache-control': 'public, max-age=31536000, immutable',
      }),
    )
  }
  router.use(pageMiddleware(site, trusted))
  router.use(logRefusals)
  router.use(sessionMiddleware(roleOfSession))
  // A long form is read only where its sender may send it.
  router.post('/transfers/import', beforeReading('money'))
  router.use(formMiddleware(path => (path === '/transfers/import' ? statementBytesMax : formBytesMax)))
  router.use(ownFormsOnly)

  router.get('/sign-in', open(showSignIn)).post(open(submitSignIn))
  router.get('/sign-in/code', open(showSecondStep)).post(open(submitSecondStep))
  router.get('/set-password', open(showSetPassword)).post(open(submitSetPassword))
  router.post('/sign-out', open(submitSignOut))
  router.post('/appearance', open(submitAppearance))
  routeSecurity(router, signedIn)

  routeDesk(router)

  router.notFound(context => showFailure(context, context.get('page'), 'notFound'))
  router.onError((error, context) => {
    const page = context.get('page') as WebPage | undefined
    site.log.error({ error, requestId: page?.requestId }, "an operator's page failed")
    if (page === undefined) return context.text('', 500)
    const isStoreOut = error instanceof LedgerUnavailableError || error instanceof StoreError
    return showFailure(context, page, isStoreOut ? 'unavailable' : 'internal')
  })
  return router
}

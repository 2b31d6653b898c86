import type { BlockList } from 'node:net'
import type { Hono } from 'hono'
import { createMiddleware } from 'hono/factory'
import { html } from 'hono/html'
import { findOperator } from '../administration/operators.ts'
import { statementBytesMax } from '../statements/statement.ts'
import { sessionMiddleware, type AreaSession } from '../web/http/page-middleware.ts'
import { seeOther, toSignIn } from '../web/http/redirect.ts'
import { showFailure } from '../web/pages/failure.ts'
import { newPasswordPage } from '../web/pages/sign-in.ts'
import { routeSecurity, type ShowSignedIn } from '../web/pages/security/security-forms.ts'
import type { PageEnv, SignedInPage } from '../web/web-page.ts'
import { areaRouter, open } from '../web/http/area-router.ts'
import { may, type DeskPage, type DeskSite, type Page, type Permission, type ShowDeskPage } from './page.ts'
import { alarmList, submitCloseAlarm, submitTake } from './pages/alarms.ts'
import {
  submitBlock,
  submitCorrection,
  submitCredit,
  submitDebit,
  submitEndSessions,
  submitNote,
  submitUnblock,
  showCustomer,
} from './pages/customer.ts'
import { customerList, movementList, requestList, actionList } from './pages/lists.ts'
import { showDeleteCustomer, submitDeleteCustomer } from './pages/delete-customer.ts'
import { documentList, showDocuments, submitClose } from './pages/documents.ts'
import { showEditKey, submitEditKey } from './pages/edit-key.ts'
import { paymentList, showPayment, submitRefund } from './pages/payments.ts'
import { showPreview, submitPreview } from './pages/preview-prices.ts'
import { showPriceHistory, showPrices, submitAcceptRate } from './pages/prices.ts'
import { showProviders, submitPause, submitResume, submitTry } from './pages/providers.ts'
import { showToday } from './pages/today.ts'
import { downloadList, showList, type DeskList } from './view/desk-list.ts'
import {
  showTransfers,
  submitAssign,
  submitReturn,
  submitStatement,
  submitUndo,
  transferList,
} from './pages/transfers.ts'

/** The page of the link from `gateway operator add`. */
const setPassword = newPasswordPage<Page>({
  path: '/set-password',
  wordsOf: page => page.texts.setPassword,
  deadLink: page => html`<p class="notice bad" role="alert">${page.texts.setPassword.dead}</p>`,
  notice: 'password-set',
})

/** The current role of a session; form tokens are bound to it. */
async function roleOfSession(page: SignedInPage): Promise<AreaSession> {
  const { site, session } = page as DeskPage
  const role = (await findOperator(site.records, session.user.id))?.role
  return { more: { role }, boundTo: role }
}

/** A page for a signed-in operator, also before the second factor is set up. */
function signedIn(show: ShowSignedIn) {
  return open((page: Page) => {
    const { session, role } = page
    if (session === undefined || role === undefined) return toSignIn(page)
    return show({ ...page, session })
  })
}

/** A page for operators with a second factor and with this permission. */
function desk(permission: Permission, show: ShowDeskPage) {
  return open((page: Page) => {
    const { session, role } = page
    if (session === undefined || role === undefined) return toSignIn(page)
    if (!session.user.hasTwoFactor) return seeOther(page, '/security?notice=second-factor-needed')
    if (!may(role, permission)) return showFailure(page, 'denied')
    return show({ ...page, session, role, operator: session.user.email })
  })
}

/** Rejects a form before reading it when its sender lacks the permission. */
function beforeReading(permission: Permission) {
  return createMiddleware<PageEnv>(async (context, next) => {
    const refused = await desk(permission, () => next().then(() => context.res))(context)
    if (refused !== context.res) context.header('connection', 'close')
    return refused
  })
}

/** All pages and forms of the desk, each with its permission. */
function routeDesk(router: Hono<PageEnv>): void {
  const list = <Row>(
    path: string,
    makeList: (page: DeskPage) => DeskList<Row>,
    show?: ShowDeskPage,
  ): void => {
    router.get(path, desk('look', show ?? (page => showList(page, makeList(page)))))
    router.get(`${path}.csv`, desk('look', downloadList(makeList)))
  }
  router.get('/', desk('look', showToday))
  list('/alarms', alarmList)
  router.post('/alarms/:id/take', desk('note', submitTake))
  router.post('/alarms/:id/close', desk('note', submitCloseAlarm))
  list('/customers', customerList)
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
  list('/movements', movementList)
  list('/requests', requestList)
  list('/payments', paymentList)
  router.get('/payments/:id', desk('look', showPayment))
  router.post('/payments/:id/refund', desk('money', submitRefund))
  list('/transfers', transferList, showTransfers)
  router.post('/transfers/import', desk('money', submitStatement))
  router.post('/transfers/:id/assign', desk('money', submitAssign))
  router.post('/transfers/:id/return', desk('money', submitReturn))
  router.post('/transfers/:id/undo', desk('money', submitUndo))
  list('/documents', documentList, showDocuments)
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
  list('/log', actionList)
}

/** All routes of the operators' pages. */
export function createRouter(site: DeskSite, trusted: BlockList): Hono<PageEnv> {
  const router = areaRouter({
    site,
    trusted,
    areaOfSession: roleOfSession,
    longForms: { '/transfers/import': statementBytesMax },
    addEarly(early) {
      early.use(logRefusals)
      // A long form is read only if its sender has the permission, which is checked again afterwards.
      early.post('/transfers/import', sessionMiddleware(roleOfSession), beforeReading('money'))
    },
    failureText: "an operator's page failed",
  })
  router.get('/set-password', open(setPassword.show)).post(open(setPassword.submit))
  routeSecurity(router, signedIn)
  routeDesk(router)
  return router
}

const pathLengthMax = 200
/** Failures that suggest an attack: a missing permission, or a form from another site. */
const suspicious: readonly string[] = ['denied', 'forbidden']

/**
 * Logs one line for each rejected request: a page that the role may not see, a form that no page of this site sent,
 * an invalid form. It contains the caller and the target, and none of the entered values.
 */
const logRefusals = createMiddleware<PageEnv>(async (context, next) => {
  await next()
  const { status } = context.res
  const { site, requestId, session, role } = context.get('page') as Page
  // Scanners that are not signed in must not fill the log.
  if (status < 400 || status > 499 || (status === 404 && session === undefined)) return
  const { method, path } = context.req
  const failure = context.get('failure')
  const facts = {
    requestId,
    operator: session?.user.id,
    role,
    method,
    path: path.slice(0, pathLengthMax),
    status,
    failure,
  }
  const level = failure !== undefined && suspicious.includes(failure) ? 'warn' : 'info'
  site.log[level](facts, "a request for an operator's page was refused")
})

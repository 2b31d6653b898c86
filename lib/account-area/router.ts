import type { BlockList } from 'node:net'
import type { Hono } from 'hono'
import { notificationsPath } from '../payments/open-payments.ts'
import { paymentNotifications, showPayment } from './pages/balance/payment.ts'
import type { PageEnv, SignedInPage } from '../web/web-page.ts'
import type { OwnPage, Page, ShowOwnPage, Site } from './page.ts'
import { seeOther, toSignIn } from '../web/http/redirect.ts'
import type { AreaSession } from '../web/http/page-middleware.ts'
import { showFailure } from '../web/pages/failure.ts'
import {
  hasConsented,
  showConfirm,
  submitConfirm,
  showConsents,
  submitConsents,
  showSignUp,
  submitSignUp,
  showCheckMail,
  submitCheckMail,
  resetPassword,
  showForgotPassword,
  showForgotPasswordSent,
  submitForgotPassword,
} from './pages/sign-up.ts'
import {
  currentAccount,
  showAccounts,
  submitAcceptInvitation,
  submitDeclineInvitation,
  submitLeaveAccount,
  submitUseAccount,
} from './pages/members/accounts.ts'
import { areaRouter, open } from '../web/http/area-router.ts'
import { downloadBalance } from './pages/balance/history.ts'
import { showBalance, submitTopUp } from './pages/balance/balance.ts'
import {
  showAutoTopUp,
  submitAutoTopUp,
  submitAutoTopUpOff,
  submitUnlinkCard,
} from './pages/balance/auto-top-up.ts'
import { showReceipts, showReceipt } from './pages/balance/receipts.ts'
import { downloadCharges } from './pages/charges/charges-csv.ts'
import { showCharge } from './pages/charges/charge.ts'
import { showCharges } from './pages/charges/charges.ts'
import { checkCompany, showCompany, submitCompany } from './pages/documents/company.ts'
import {
  downloadClosing,
  downloadMonth,
  downloadReconciliation,
  showDocuments,
} from './pages/documents/documents.ts'
import {
  downloadInvoice,
  downloadLinkedInvoice,
  showInvoice,
  showLinkedInvoice,
  submitCancelInvoice,
  submitInvoice,
} from './pages/documents/invoices.ts'
import { showOffer, showPersonalData } from './pages/legal-texts.ts'
import { showKeys, showRevokeKey, submitRevokeKey } from './pages/keys/keys.ts'
import { showNewKey, submitNewKey } from './pages/keys/new-key.ts'
import { showModels } from './pages/models/models.ts'
import {
  showMembers,
  submitInvitation,
  submitRemoveMember,
  submitWithdrawal,
} from './pages/members/members.ts'
import { showOverview } from './pages/overview/overview.ts'
import { showQuickStart } from './pages/quick-start/quick-start.ts'
import { showConfirmEmail, submitConfirmEmail } from './sign-in/email-change.ts'
import {
  showDeleteAccount,
  submitDeleteAccount,
  showSettings,
  submitAlert,
  submitProfile,
  submitEmail,
} from './pages/settings/settings.ts'
import { routeSecurity } from '../web/pages/security/security-forms.ts'

/** The account that a session acts for; form tokens are bound to it. */
async function accountOfSession(page: SignedInPage): Promise<AreaSession> {
  const account = await currentAccount(page as OwnPage)
  return { more: { account }, boundTo: account?.accountId }
}

/** A page for every signed-in user; others are redirected to sign in. */
function ownUnasked(show: ShowOwnPage) {
  return open((page: Page) => {
    const { session, account } = page
    if (session === undefined) return toSignIn(page)
    if (account === undefined) return showFailure(page, 'notFound')
    return show({ ...page, session, account })
  })
}

/**
 * A page for every member of an account, accountants included, after all consents are given. It must show neither
 * keys nor requests.
 */
function everyMember(show: ShowOwnPage) {
  return ownUnasked(async page => ((await hasConsented(page)) ? show(page) : seeOther(page, '/consents')))
}

function own(show: ShowOwnPage) {
  return everyMember(page => {
    if (page.account.role === 'owner') return show(page)
    // An accountant who has just signed in is redirected to a permitted page.
    if (page.context.req.path === '/') return seeOther(page, '/balance')
    return showFailure(page, 'denied')
  })
}

/** All routes of the account area. */
export function createRouter(site: Site, trusted: BlockList): Hono<PageEnv> {
  const router = areaRouter({
    site,
    trusted,
    areaOfSession: accountOfSession,
    addPlain: plain => plain.post(notificationsPath, paymentNotifications(site, trusted)),
    failureText: 'a page failed',
  })

  // Public
  router.get('/sign-up', open(showSignUp)).post(open(submitSignUp))
  router.get('/check-mail', open(showCheckMail)).post(open(submitCheckMail))
  router.get('/confirm', open(showConfirm)).post(open(submitConfirm))
  router.get('/forgot-password', open(showForgotPassword)).post(open(submitForgotPassword))
  router.get('/forgot-password/sent', open(showForgotPasswordSent))
  router.get('/reset-password', open(resetPassword.show)).post(open(resetPassword.submit))
  router.get('/documents/offer', open(showOffer))
  router.get('/documents/personal-data', open(showPersonalData))
  router.get('/invoices/:token', open(showLinkedInvoice))
  router.get('/invoices/:token/pdf', open(downloadLinkedInvoice))

  // Signed-in users: owners, and every member where stated
  router.get('/consents', ownUnasked(showConsents)).post(ownUnasked(submitConsents))
  router.get('/', own(showOverview))
  routeBalance(router)
  router.get('/keys', own(showKeys))
  router.get('/keys/new', own(showNewKey)).post(own(submitNewKey))
  router.get('/keys/:id/revoke', own(showRevokeKey)).post(own(submitRevokeKey))
  router.get('/charges', own(showCharges))
  router.get('/charges.csv', own(downloadCharges))
  router.get('/charges/:requestId', own(showCharge))
  router.get('/models', everyMember(showModels))
  router.get('/quick-start', own(showQuickStart))
  routeDocuments(router)
  routeSettings(router)
  routeSecurity(router, everyMember)
  routeMembers(router)
  return router
}

/** Payments and the balance. */
function routeBalance(router: Hono<PageEnv>): void {
  router.get('/balance', everyMember(showBalance))
  router.get('/balance.csv', everyMember(downloadBalance))
  router.post('/balance/top-up', everyMember(submitTopUp))
  router.get('/balance/payments/:id', everyMember(showPayment))
  router.get('/balance/receipts', everyMember(showReceipts))
  router.get('/balance/receipts/:id', everyMember(showReceipt))
  router.get('/balance/auto', own(showAutoTopUp)).post(own(submitAutoTopUp))
  router.post('/balance/auto/off', own(submitAutoTopUpOff))
  router.post('/balance/auto/unlink', own(submitUnlinkCard))
}

/** Companies: their details, invoices and documents. */
function routeDocuments(router: Hono<PageEnv>): void {
  router.get('/settings/company', everyMember(showCompany)).post(everyMember(submitCompany))
  router.post('/settings/company/check', everyMember(checkCompany))
  router.post('/balance/invoices', everyMember(submitInvoice))
  router.get('/balance/invoices/:id', everyMember(showInvoice))
  router.get('/balance/invoices/:id/pdf', everyMember(downloadInvoice))
  router.post('/balance/invoices/:id/cancel', everyMember(submitCancelInvoice))
  router.get('/documents', everyMember(showDocuments))
  router.get('/documents/closing/:id', everyMember(downloadClosing))
  router.get('/documents/months/:month', everyMember(downloadMonth))
  router.get('/documents/reconciliation', everyMember(downloadReconciliation))
}

/** Settings of users, and of accounts for their owners. */
function routeSettings(router: Hono<PageEnv>): void {
  router.get('/settings', everyMember(showSettings))
  router.post('/settings/profile', everyMember(submitProfile))
  router.get('/settings/email', everyMember(showConfirmEmail)).post(everyMember(submitEmail))
  router.post('/settings/email/confirm', everyMember(submitConfirmEmail))
  router.post('/settings/alert', own(submitAlert))
  router.get('/settings/delete', own(showDeleteAccount)).post(own(submitDeleteAccount))
}

/** Members of an account, and the accounts of a user. */
function routeMembers(router: Hono<PageEnv>): void {
  router.get('/settings/members', own(showMembers)).post(own(submitInvitation))
  router.post('/settings/members/withdraw', own(submitWithdrawal))
  router.post('/settings/members/remove', own(submitRemoveMember))
  router.get('/accounts', everyMember(showAccounts))
  router.post('/accounts/use', everyMember(submitUseAccount))
  router.post('/accounts/leave', everyMember(submitLeaveAccount))
  router.post('/accounts/accept', everyMember(submitAcceptInvitation))
  router.post('/accounts/decline', everyMember(submitDeclineInvitation))
}

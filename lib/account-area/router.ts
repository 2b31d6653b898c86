import type { BlockList } from 'node:net'
import { Hono } from 'hono'
import { LedgerUnavailableError } from '../ledger/ledger.ts'
import { StoreError } from '../stores/shared/store-error.ts'
import { accountOfSession, everyMember, open, own, ownUnasked } from './http/open-page.ts'
import {
  formMiddleware,
  ownFormsOnly,
  pageMiddleware,
  sessionMiddleware,
} from '../web/http/page-middleware.ts'
import { notificationsPath } from '../payments/open-payments.ts'
import { paymentNotifications } from './http/payment-notifications.ts'
import { securityHeaders } from '../web/http/security-headers.ts'
import type { PageContext, PageEnv, WebPage } from '../web/web-page.ts'
import type { Site } from './page.ts'
import { downloadBalance } from './pages/balance/history.ts'
import { showBalance, submitTopUp } from './pages/balance/balance.ts'
import { showPayment } from './pages/balance/payment.ts'
import {
  showAutoTopUp,
  submitAutoTopUp,
  submitAutoTopUpOff,
  submitUnlinkCard,
} from './pages/balance/auto-top-up.ts'
import { showReceipts, showReceipt } from './pages/balance/receipts.ts'
import { submitAppearance } from '../web/pages/appearance.ts'
import { downloadCharges } from './pages/charges/charges-csv.ts'
import { showCharge } from './pages/charges/charge.ts'
import { showCharges } from './pages/charges/charges.ts'
import { showConfirm, submitConfirm } from './pages/confirm.ts'
import { showConsents, submitConsents } from './pages/consents.ts'
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
import { showFailure } from '../web/pages/failure.ts'
import { showOffer, showPersonalData } from './pages/legal-text.ts'
import { showKeys, showRevokeKey, submitRevokeKey } from './pages/keys/keys.ts'
import { showNewKey, submitNewKey } from './pages/keys/new-key.ts'
import { showModels } from './pages/models/models.ts'
import {
  showAccounts,
  submitAcceptInvitation,
  submitDeclineInvitation,
  submitLeaveAccount,
  submitUseAccount,
} from './pages/members/accounts.ts'
import {
  showMembers,
  submitInvitation,
  submitRemoveMember,
  submitWithdrawal,
} from './pages/members/members.ts'
import { showOverview } from './pages/overview/overview.ts'
import {
  showForgotPassword,
  showForgotPasswordSent,
  showResetPassword,
  submitForgotPassword,
  submitResetPassword,
} from './pages/password-reset.ts'
import { showQuickStart } from './pages/quick-start/quick-start.ts'
import { showSecondStep, submitSecondStep } from '../web/pages/second-step.ts'
import { showDeleteAccount, submitDeleteAccount } from './pages/settings/delete-account.ts'
import {
  showSettings,
  submitAlert,
  submitProfile,
  showConfirmEmail,
  submitConfirmEmail,
  submitEmail,
} from './pages/settings/settings.ts'
import { routeSecurity } from '../web/pages/security/route-security.ts'
import { showSignIn, submitSignIn, submitSignOut } from '../web/pages/sign-in.ts'
import { showSignUp, submitSignUp, showCheckMail, submitCheckMail } from './pages/sign-up.ts'

/** No form of ours is longer. */
const formBytesMax = 64 * 1024

/** The map of the account area: every page and form there is. */
export function createRouter(site: Site, trusted: BlockList): Hono<PageEnv> {
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
  // Not a form of ours: neither session nor token nor page.
  router.post(notificationsPath, paymentNotifications(site, trusted))
  router.use(pageMiddleware(site, trusted))
  router.use(formMiddleware(() => formBytesMax))
  router.use(sessionMiddleware(accountOfSession))
  router.use(ownFormsOnly)

  // Anybody
  router.get('/sign-up', open(showSignUp)).post(open(submitSignUp))
  router.get('/check-mail', open(showCheckMail)).post(open(submitCheckMail))
  router.get('/confirm', open(showConfirm)).post(open(submitConfirm))
  router.get('/sign-in', open(showSignIn)).post(open(submitSignIn))
  router.get('/sign-in/code', open(showSecondStep)).post(open(submitSecondStep))
  router.get('/forgot-password', open(showForgotPassword)).post(open(submitForgotPassword))
  router.get('/forgot-password/sent', open(showForgotPasswordSent))
  router.get('/reset-password', open(showResetPassword)).post(open(submitResetPassword))
  router.post('/sign-out', open(submitSignOut))
  router.post('/appearance', open(submitAppearance))
  router.get('/documents/offer', open(showOffer))
  router.get('/documents/personal-data', open(showPersonalData))
  router.get('/invoices/:token', open(showLinkedInvoice))
  router.get('/invoices/:token/pdf', open(downloadLinkedInvoice))

  // Users who are signed in: owners, and every member where it says so
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

  router.notFound(context => showFailure(context, context.get('page'), 'notFound'))
  router.onError(failPage(site))
  return router
}

/** Money that comes in. */
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

/** What users set for themselves, and owners for their account. */
function routeSettings(router: Hono<PageEnv>): void {
  router.get('/settings', everyMember(showSettings))
  router.post('/settings/profile', everyMember(submitProfile))
  router.get('/settings/email', everyMember(showConfirmEmail)).post(everyMember(submitEmail))
  router.post('/settings/email/confirm', everyMember(submitConfirmEmail))
  router.post('/settings/alert', own(submitAlert))
  router.get('/settings/delete', own(showDeleteAccount)).post(own(submitDeleteAccount))
}

/** Who may act for an account, and for which accounts a user may. */
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

/** Says that a page failed, on a page. */
function failPage(site: Site) {
  return (error: Error, context: PageContext): Response | Promise<Response> => {
    const page = context.get('page') as WebPage | undefined
    site.log.error({ error, requestId: page?.requestId }, 'a page failed')
    // A notification, which has no page: its sender tries again.
    if (page === undefined) return context.text('', 500)
    const isStoreOut = error instanceof LedgerUnavailableError || error instanceof StoreError
    return showFailure(context, page, isStoreOut ? 'unavailable' : 'internal')
  }
}

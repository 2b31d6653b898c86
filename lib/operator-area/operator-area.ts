import { Members } from '../administration/members.ts'
import type { Config, OperatorAreaConfig } from '../config/config.ts'
import { addressList } from '../http/client-address.ts'
import { Movements } from '../payments/movements.ts'
import { PricePreviews } from '../prices/price-previews.ts'
import type { PaymentActions } from '../payments/payment-actions.ts'
import { PaymentReader } from '../payments/payment-reader.ts'
import type { Store } from '../stores/store.ts'
import { openArea, type AreaParts, type OpenArea } from '../web/open-area.ts'
import { deleteExpired, operatorTables } from '../web/sign-in/auth.ts'
import { openSignIn } from '../web/sign-in/open-sign-in.ts'
import { areaAssets } from '../web/view/assets.ts'
import type { WebPage } from '../web/web-page.ts'
import type { DeskProviders, DeskSite, Page } from './page.ts'
import { createRouter } from './router.ts'
import { textsOf } from './texts/texts.ts'
import { html } from 'hono/html'
import type { Frame } from '../web/view/layout.ts'

interface OperatorAreaOptions extends AreaParts {
  readonly settings: OperatorAreaConfig
  readonly store: Pick<Store, 'users' | 'accounts' | 'reports' | 'records'>
  readonly payments?: PaymentActions | undefined
  readonly providers: DeskProviders
}

/** Operators get no emails: the command line prints their links. */
const nothing = (): void => undefined
const emails = {
  confirm: nothing,
  alreadySignedUp: nothing,
  resetPassword: nothing,
  passwordChanged: nothing,
}
const securityEmails = { passwordChanged: nothing, twoFactorChanged: nothing, backupCodesMade: nothing }

/** The frame around an operator's page. */
function deskFrame(page: Page): Frame {
  const { sections, roles } = page.texts
  return {
    sections: [
      { path: '/', label: sections.today },
      { path: '/alarms', label: sections.alarms },
      { path: '/customers', label: sections.customers },
      { path: '/requests', label: sections.requests },
      { path: '/payments', label: sections.payments },
      { path: '/transfers', label: sections.transfers },
      { path: '/documents', label: sections.documents },
      { path: '/providers', label: sections.providers },
      { path: '/prices', label: sections.prices },
      { path: '/log', label: sections.log },
      { path: '/security', label: page.texts.shell.security },
    ],
    ...(page.role !== undefined && { who: html`<span class="badge">${roles[page.role]}</span>` }),
  }
}

async function openSite(
  { settings, store, payments, providers, failures, passwordCost, clock, log }: OperatorAreaOptions,
  publicUrl: URL,
  current: { readonly config: Config },
): Promise<DeskSite> {
  const { accounts, reports } = store
  const records = await store.records()
  return {
    get config() {
      return current.config
    },
    ...(await openSignIn({
      cookiePrefix: 'operator',
      tables: operatorTables,
      users: store.users,
      publicUrl,
      secret: settings.secret,
      name: settings.name,
      emails,
      onConfirmed: () => Promise.resolve(),
      failures,
      passwordCost,
      clock,
      log,
    })),
    securityEmails,
    records,
    accounts,
    reports,
    members: new Members({ records, clock }),
    movements: new Movements(records),
    payments: new PaymentReader(records),
    paymentActions: payments,
    providers,
    pricePreviews: new PricePreviews(),
    assets: areaAssets(new URL('view/style.css', import.meta.url)),
    textsOf,
    frame: (page: WebPage) => deskFrame(page as Page),
  }
}

/** Opens the operators' pages on a port of their own. */
export function openOperatorArea(options: OperatorAreaOptions): Promise<OpenArea> {
  const { config, settings, store, log, clock } = options
  return openArea({
    config,
    settings,
    log,
    async open(publicUrl, current) {
      return createRouter(await openSite(options, publicUrl, current), addressList(config.trustedProxies))
    },
    async purge() {
      await deleteExpired(store.users, operatorTables, clock)
    },
  })
}

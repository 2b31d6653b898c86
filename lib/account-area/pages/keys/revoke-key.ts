import { html } from 'hono/html'
import type { KeyRecord } from '../../../accounts/accounts.ts'
import { time } from '../../../web/format.ts'
import { seeOther } from '../../../web/http/redirect.ts'
import { isId } from '../../../platform/new-id.ts'
import type { OwnPage, PageContext } from '../../page.ts'
import { form } from '../../../web/view/form.ts'
import { layout } from '../../../web/view/layout.ts'
import { showFailure } from '../../../web/pages/failure.ts'
import { keyName } from './key-name.ts'

/** The key of the address, if it is the account's own. */
async function ownKey(context: PageContext, { site, account }: OwnPage): Promise<KeyRecord | undefined> {
  const id = context.req.param('id') ?? ''
  return isId(id) ? site.reports.key(account.accountId, id) : undefined
}

/** Asks before a key is revoked. */
export async function showRevokeKey(context: PageContext, page: OwnPage): Promise<Response> {
  const key = await ownKey(context, page)
  if (key === undefined) return showFailure(context, page, 'notFound')
  if (key.revokedAt !== undefined) return seeOther(context, '/keys?notice=key-revoked')
  const { keys, revokeKey } = page.texts
  return context.html(
    layout(
      page,
      { title: revokeKey.title, isNarrow: true },
      html`<h1>${revokeKey.title}</h1>
        <section class="card">
          <h2>${keyName(page, key)}</h2>
          <p class="quiet small">
            <span class="mono whole">${keys.ending(key.lastFour)}</span> · ${keys.madeAt}
            ${time(key.createdAt, page.language)}
          </p>
          <p>${revokeKey.text}</p>
          ${form(
            page,
            `/keys/${key.id}/revoke`,
            html`<div class="row">
              <button class="danger">${revokeKey.submit}</button>
              <a class="button plain" href="/keys">${revokeKey.cancel}</a>
            </div>`,
          )}
        </section>`,
    ),
  )
}

/** Revokes a key: from now on it is refused. */
export async function submitRevokeKey(context: PageContext, page: OwnPage): Promise<Response> {
  const key = await ownKey(context, page)
  if (key === undefined) return showFailure(context, page, 'notFound')
  await page.site.accounts.revokeKey(key.id)
  return seeOther(context, '/keys?notice=key-revoked')
}

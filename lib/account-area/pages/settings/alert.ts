import { z } from 'zod'
import { fieldSchemas, readForm } from '../../../web/http/read-form.ts'
import { seeOther } from '../../../web/http/redirect.ts'
import type { OwnPage, PageContext } from '../../page.ts'
import { settingsView } from './settings.ts'

/** Keeps the bound of the low-balance alert; an empty field switches it off. */
export async function submitAlert(context: PageContext, page: OwnPage): Promise<Response> {
  const sent = await readForm(context, page, z.object({ below: fieldSchemas.roubles(page.language) }))
  if (!sent.isValid) return context.html(await settingsView(page, { alert: sent.state }), 422)
  const { below } = sent.value
  await page.site.settings.setAlertBelow(page.account.accountId, below)
  return seeOther(context, `/settings?notice=${below === undefined ? 'alert-off' : 'alert-on'}`)
}

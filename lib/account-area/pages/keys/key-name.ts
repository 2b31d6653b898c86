import { html } from 'hono/html'
import type { KeyRecord } from '../../../accounts/accounts.ts'
import type { Html, OwnPage } from '../../page.ts'

/** What a key is called, apart from the direction of the text around it. */
export function keyName({ texts }: OwnPage, { name }: Pick<KeyRecord, 'name'>): Html {
  return name === '' ? html`<span class="quiet">${texts.keys.unnamed}</span>` : html`<bdi>${name}</bdi>`
}

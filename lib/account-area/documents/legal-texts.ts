import { readFile } from 'node:fs/promises'
import type { Consent } from '../../accounts/user-rows.ts'
import type { AccountAreaConfig } from '../../config/config.ts'
import type { Language } from '../../web/texts/web-texts.ts'
import { drafts } from './drafts.ts'

/** A text to agree to, as one version of it says. */
export interface LegalText {
  readonly version: string
  readonly text: Readonly<Record<Language, string>>
}

/** What customers agree to, by the kind of the consent. */
export type LegalTexts = Readonly<Record<Consent['kind'], LegalText>>

async function read(
  document: AccountAreaConfig['documents']['offer'],
  draft: { readonly version: string } & Readonly<Record<Language, string>>,
): Promise<LegalText> {
  if (document === undefined) return { version: draft.version, text: draft }
  const [ru, en] = await Promise.all([readFile(document.ru, 'utf8'), readFile(document.en, 'utf8')])
  return { version: document.version, text: { ru, en } }
}

/** Reads the operator's texts; where there are none, our drafts, which say that they are drafts. */
export async function readLegalTexts({ documents }: AccountAreaConfig): Promise<LegalTexts> {
  return {
    offer: await read(documents.offer, drafts.offer),
    'personal-data': await read(documents.personalData, drafts.personalData),
  }
}

import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { AccountAreaSettings } from './account-area-schema.ts'
import type { AccountAreaConfig, LegalDocument } from './config.ts'
import type { Problems } from './problems.ts'
import { isLoopback } from './scalars.ts'

/** The account area as it runs: paths are absolute, and letters have a way to be sent. */
export function buildAccountArea(
  settings: AccountAreaSettings,
  file: string,
  problems: Problems,
): AccountAreaConfig {
  const { listen, publicUrl, name, mail, secret, support, documents } = settings
  if (publicUrl?.protocol === 'http:' && !isLoopback(publicUrl)) {
    problems.add(['accountArea', 'publicUrl'], 'must be https: over plain http anybody on the way reads the cookies')
  }
  if (mail === undefined && publicUrl !== undefined && !isLoopback(publicUrl)) {
    problems.add(['accountArea', 'mail'], 'is needed where publicUrl is not this machine: nobody could sign up')
  }
  if (publicUrl === undefined && !/^(localhost|127\..*|::1)$/.test(listen.host)) {
    problems.add(['accountArea', 'publicUrl'], 'is needed where others than this machine can reach it: letters link there')
  }
  const resolved: Record<string, LegalDocument> = {}
  for (const kind of ['offer', 'personalData'] as const) {
    const document = documents[kind]
    if (document === undefined) continue
    const found = {
      version: document.version,
      ru: resolve(dirname(file), document.ru),
      en: resolve(dirname(file), document.en),
    }
    for (const language of ['ru', 'en'] as const) {
      if (existsSync(found[language])) continue
      problems.add(['accountArea', 'documents', kind, language], `there is no file ${found[language]}`)
    }
    resolved[kind] = found
  }
  return {
    listen,
    ...(publicUrl !== undefined && { publicUrl }),
    name,
    ...(mail !== undefined && { mail }),
    ...(secret !== undefined && { secret }),
    ...(support !== undefined && { support }),
    documents: resolved,
  }
}

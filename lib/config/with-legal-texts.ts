import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { AccountAreaConfig } from './config.ts'
import type { Problems } from './problems.ts'

/** The account area with its texts found: paths are from the folder of the file that names them. */
export function withLegalTexts(
  settings: AccountAreaConfig,
  file: string,
  problems: Problems,
): AccountAreaConfig {
  const { offer, personalData } = settings.documents
  const found = Object.entries({ offer, personalData }).flatMap(([kind, document]) => {
    if (document === undefined) return []
    const [ru, en] = (['ru', 'en'] as const).map(language => {
      const path = resolve(dirname(file), document[language])
      if (!existsSync(path))
        problems.add(['accountArea', 'documents', kind, language], `there is no file ${path}`)
      return path
    })
    return [[kind, { ...document, ru, en }]]
  })
  return { ...settings, documents: Object.fromEntries(found) as AccountAreaConfig['documents'] }
}

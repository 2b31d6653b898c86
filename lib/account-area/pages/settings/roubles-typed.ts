import type { Language } from '../../../web/texts/web-texts.ts'
import { formatRoubles } from '../../../money/amount.ts'

/** An amount as it stands in a field: `1000,5`, in English `1000.5`; nothing for none. */
export function roublesTyped(micros: number | undefined, language: Language): string {
  return micros === undefined
    ? ''
    : formatRoubles(micros)
        .replace(/\.?0+$/, '')
        .replace('.', language === 'ru' ? ',' : '.')
}

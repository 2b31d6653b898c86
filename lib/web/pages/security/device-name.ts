/** What browsers and systems call themselves, the more telling words first: most say several. */
const browsers = [
  ['YaBrowser', 'Яндекс Браузер'],
  ['Edg', 'Edge'],
  ['OPR', 'Opera'],
  ['Firefox', 'Firefox'],
  ['Chrome', 'Chrome'],
  ['Safari', 'Safari'],
] as const
const systems = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['Linux', 'Linux'],
] as const

/** `Firefox, Linux` of what a browser says of itself; the whole where that is not understood. */
export function deviceName(userAgent: string, unknown: string): string {
  const parts = [browsers, systems]
    .map(names => names.find(([word]) => userAgent.includes(word))?.[1])
    .filter(part => part !== undefined)
  if (parts.length > 0) return parts.join(', ')
  return userAgent === '' ? unknown : userAgent.slice(0, 80)
}

/** A person's name as the tax service's formats have it. */
interface PersonName {
  readonly surname: string
  readonly name: string
  readonly patronymic?: string
}

/** What stands before the name of a sole proprietor. */
const title = /^(?:ИП|индивидуальный предприниматель|глава КФХ)\s+/iu
const partLengthMax = 60

/**
 * Reads surname, name and patronymic, in that order, with or without «ИП» before them; undefined when a part is
 * absent or too long.
 */
export function parsePersonName(text: string): PersonName | undefined {
  const [surname, name, ...rest] = text.replace(title, '').split(' ').filter(Boolean)
  const patronymic = rest.join(' ')
  if (surname === undefined || name === undefined) return undefined
  if ([surname, name, patronymic].some(part => Array.from(part).length > partLengthMax)) return undefined
  return patronymic === '' ? { surname, name } : { surname, name, patronymic }
}

/** «Петров П. П.», as signatures are explained. */
export function shortName(text: string): string {
  const person = parsePersonName(text)
  if (person === undefined) return text
  const initials = [person.name, ...(person.patronymic === undefined ? [] : [person.patronymic])]
  return `${person.surname} ${initials.map(part => `${Array.from(part)[0]}.`).join(' ')}`
}

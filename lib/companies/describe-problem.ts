import type { DetailProblem } from './company-details.ts'

/** A problem as config and command line say it; pages have it in the reader's language. */
export function describeProblem(problem: DetailProblem): string {
  switch (problem.kind) {
    case 'missing':
      return 'is missing'
    case 'tooLong':
      return `has ${problem.found} characters; at most ${problem.max} fit`
    case 'unprintable':
      return `has ${nameOf(problem.found)} as its character ${problem.position}, which cannot be printed; remove it`
    case 'length':
      return `has ${problem.found} digits; it must have ${problem.expected.join(' or ')}`
    case 'character':
      return `has "${problem.found}" in place ${problem.position}, where a digit must be`
    case 'prefix':
      return `begins with ${problem.found}; it must begin with ${problem.expected.join(' or ')}`
    case 'checkDigit':
      return (
        `has ${problem.found} as digit ${problem.position}, which checks the others and must be ` +
        `${problem.expected}; compare all digits with the original`
      )
    case 'personName':
      return 'must be surname, name and patronymic, each of at most 60 letters, such as Иванов Иван Иванович'
    case 'email':
      return 'must be an email address, such as buh@example.ru'
    case 'ediId':
      return 'must be an id of an operator of electronic documents, such as 2BM-7707083893-773601001-20260101'
    case 'unexpected':
      return 'must be absent: a sole proprietor has none'
  }
}

function nameOf(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
  return /^[\p{L}\p{N}\p{P}\p{S}]$/u.test(character) ? `"${character}" (U+${code})` : `U+${code}`
}

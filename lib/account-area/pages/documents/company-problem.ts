import type { DetailProblem } from '../../../companies/company-details.ts'
import type { Texts } from '../../texts/texts.ts'

function shown(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
  return /^[\p{L}\p{N}\p{P}\p{S}]$/u.test(character) ? `«${character}»` : `U+${code}`
}

/** A problem in the reader's language, with the digit that is wrong. */
export function companyProblem({ company, fieldErrors }: Texts, problem: DetailProblem): string {
  const { problems } = company
  switch (problem.kind) {
    case 'tooLong':
      return problems.tooLong(problem.found, problem.max)
    case 'unprintable':
      return problems.unprintable(shown(problem.found), problem.position)
    case 'length':
      return problems.length(problem.found, problem.expected.join(problems.or))
    case 'character':
      return problems.character(problem.found, problem.position)
    case 'prefix':
      return problems.prefix(problem.found, problem.expected.join(problems.or))
    case 'checkDigit':
      return problems.checkDigit(problem.position, problem.found, problem.expected)
    case 'email':
      return fieldErrors.emailInvalid
    case 'missing':
    case 'personName':
    case 'ediId':
    case 'unexpected':
      return problems[problem.kind]
  }
}

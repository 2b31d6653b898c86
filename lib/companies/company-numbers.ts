import { checkDigitProblem, digitsProblem, weightedSum } from './number-problem.ts'
import type { NumberProblem } from './number-problem.ts'

/** A legal entity (ООО, АО and the like), or a sole proprietor (ИП). */
export type CompanyKind = 'company' | 'sole'

// Order ED-7-14/559@ of the tax service: weights of the digits before the check digit.
const innWeights = {
  tenth: [2, 4, 10, 3, 5, 9, 4, 6, 8],
  eleventh: [7, 2, 4, 10, 3, 5, 9, 4, 6, 8],
  twelfth: [3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8],
}

function innDigit(inn: string, weights: readonly number[]): number {
  return (weightedSum(inn, weights) % 11) % 10
}

/** Both numbers begin with a region, and none is 00; without this all zeros would pass. */
function regionProblem(text: string): NumberProblem | undefined {
  return text.startsWith('00') ? { kind: 'prefix', found: '00', expected: ['01…99'] } : undefined
}

/** The taxpayer's number: 10 digits of a legal entity, 12 of a person. */
export function checkInn(inn: string, kind: CompanyKind): NumberProblem | undefined {
  const problem = digitsProblem(inn, kind === 'company' ? 10 : 12)
  if (problem !== undefined) return problem
  if (kind === 'company') {
    return regionProblem(inn) ?? checkDigitProblem(inn, 10, innDigit(inn, innWeights.tenth))
  }
  return (
    regionProblem(inn) ??
    checkDigitProblem(inn, 11, innDigit(inn, innWeights.eleventh)) ??
    checkDigitProblem(inn, 12, innDigit(inn, innWeights.twelfth))
  )
}

/** The reason code of a legal entity's registration; its fifth and sixth place may be Latin capitals. */
export function checkKpp(kpp: string): NumberProblem | undefined {
  const characters = Array.from(kpp)
  const index = characters.findIndex((one, at) => !(at === 4 || at === 5 ? /^[\dA-Z]$/ : /^\d$/).test(one))
  if (index >= 0) return { kind: 'character', position: index + 1, found: characters[index] ?? '' }
  if (kpp.length !== 9) return { kind: 'length', found: kpp.length, expected: [9] }
  return regionProblem(kpp)
}

/** The number in the state register: OGRN of a legal entity, OGRNIP of a sole proprietor. */
export function checkOgrn(ogrn: string, kind: CompanyKind): NumberProblem | undefined {
  const length = kind === 'company' ? 13 : 15
  const problem = digitsProblem(ogrn, length)
  if (problem !== undefined) return problem
  const first = kind === 'company' ? ['1', '5'] : ['3', '4']
  if (!first.includes(ogrn.charAt(0))) return { kind: 'prefix', found: ogrn.charAt(0), expected: first }
  const divisor = kind === 'company' ? 11 : 13
  return checkDigitProblem(ogrn, length, (Number(ogrn.slice(0, -1)) % divisor) % 10)
}

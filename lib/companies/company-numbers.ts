/** A legal entity (ООО, АО and the like), or a sole proprietor (ИП). */
export type CompanyKind = 'company' | 'sole'

// Order ED-7-14/559@ of the tax service: weights of the digits before the check digit.
const innWeights = {
  tenth: [2, 4, 10, 3, 5, 9, 4, 6, 8],
  eleventh: [7, 2, 4, 10, 3, 5, 9, 4, 6, 8],
  twelfth: [3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8],
}

/** A problem of a number of a company or a bank. Positions count from 1, as people do. */
export type NumberProblem =
  | { readonly kind: 'length'; readonly found: number; readonly expected: readonly number[] }
  | { readonly kind: 'character'; readonly position: number; readonly found: string }
  | { readonly kind: 'prefix'; readonly found: string; readonly expected: readonly string[] }
  | {
      readonly kind: 'checkDigit'
      readonly position: number
      readonly found: string
      /** The value that the other digits give. */
      readonly expected: string
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
  if (kind === 'company')
    return regionProblem(inn) ?? checkDigitProblem(inn, 10, innDigit(inn, innWeights.tenth))
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

/** The bank's identification code: nine digits; of Russian banks and the treasury it begins with 0. */
export function checkBic(bic: string): NumberProblem | undefined {
  const problem = digitsProblem(bic, 9)
  if (problem !== undefined) return problem
  return bic.startsWith('0') ? undefined : { kind: 'prefix', found: bic.charAt(0), expected: ['0'] }
}

/**
 * The check digit of an account is its ninth. Each digit of the bank's three and the account's twenty is
 * multiplied by 7, 1, 3 in turn; the last digits of the products must add up to a multiple of ten (rules of the
 * Bank of Russia of 08.09.1997, № 515).
 */
function accountProblem(bank: string, account: string): NumberProblem | undefined {
  const weights = [7, 1, 3]
  const digits = `${bank}${account.slice(0, 8)}0${account.slice(9)}`
  const sum = Array.from(digits).reduce(
    (total, digit, index) => total + ((Number(digit) * (weights[index % 3] ?? 0)) % 10),
    0,
  )
  // The ninth digit has the weight 3, so that three times it must bring the sum to a multiple of ten.
  return checkDigitProblem(account, 9, (sum * 3) % 10)
}

/** The Bank of Russia's own offices, where a bank's code is 000, 001 or 002, and the treasury's, which begin with 01. */
function isOffice(bic: string): boolean {
  return /^01|00[0-2]$/.test(bic)
}

/** A settlement account: twenty digits that agree with the bank's code. */
export function checkAccount(account: string, bic: string): NumberProblem | undefined {
  const problem = digitsProblem(account, 20)
  if (problem !== undefined || checkBic(bic) !== undefined) return problem
  return accountProblem(isOffice(bic) ? `0${bic.slice(4, 6)}` : bic.slice(6), account)
}

/** The bank's own account at the Bank of Russia: twenty digits that agree with the bank's code. */
export function checkCorrespondentAccount(account: string, bic: string): NumberProblem | undefined {
  const problem = digitsProblem(account, 20)
  if (problem !== undefined || checkBic(bic) !== undefined) return problem
  // 301 of banks, 401 of the treasury.
  if (!/^[34]01/.test(account))
    return { kind: 'prefix', found: account.slice(0, 3), expected: ['301', '401'] }
  return accountProblem(`0${bic.slice(4, 6)}`, account)
}

/** A number as it is stored: people type and paste spaces and hyphens between its digits. */
export function cleanNumber(text: string): string {
  return text.replaceAll(/[\s\u00a0\u202f\u2010-\u2015-]/g, '')
}

/** The first problem of a length or of the digits, if there is one. */
function digitsProblem(text: string, ...lengths: readonly number[]): NumberProblem | undefined {
  const characters = Array.from(text)
  const position = characters.findIndex(one => !/^\d$/.test(one)) + 1
  if (position > 0) return { kind: 'character', position, found: characters[position - 1] ?? '' }
  if (!lengths.includes(text.length)) return { kind: 'length', found: text.length, expected: lengths }
  return undefined
}

/** Compares one digit with the value that the others give. */
function checkDigitProblem(text: string, position: number, expected: number): NumberProblem | undefined {
  const found = text.charAt(position - 1)
  return found === String(expected)
    ? undefined
    : { kind: 'checkDigit', position, found, expected: String(expected) }
}

/** The sum of the digits, each times its weight; digits without a weight do not count. */
function weightedSum(text: string, weights: readonly number[]): number {
  return weights.reduce((sum, weight, index) => sum + weight * Number(text.charAt(index)), 0)
}

import { checkDigitProblem, digitsProblem } from './number-problem.ts'
import type { NumberProblem } from './number-problem.ts'

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

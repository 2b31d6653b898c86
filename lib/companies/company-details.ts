import {
  checkInn,
  checkKpp,
  checkOgrn,
  checkAccount,
  checkBic,
  checkCorrespondentAccount,
  cleanNumber,
  type CompanyKind,
  type NumberProblem,
} from './company-numbers.ts'
import { checkText, cleanText, type TextProblem } from './printable-text.ts'
import { z } from 'zod'

/** The bank account to which a company is paid. */
export interface BankDetails {
  readonly name: string
  readonly bic: string
  readonly account: string
  readonly correspondentAccount: string
}

/** The signatory of a company. */
export interface Signer {
  readonly name: string
  readonly position: string
}

/** A company's details on its documents. */
export interface CompanyDetails {
  readonly kind: CompanyKind
  /** As in its charter; for a sole proprietor surname, name and patronymic, with or without «ИП». */
  readonly name: string
  readonly inn: string
  /** Of a legal entity. */
  readonly kpp?: string
  readonly ogrn: string
  readonly address: string
  /** The address for documents; every customer has one. */
  readonly email?: string
  readonly bank?: BankDetails
  readonly signer?: Signer
  /** Its id at an operator of electronic documents, such as 2BM-7707083893-773601001-20260101. */
  readonly ediId?: string
}

/** The fields of company details, by their path. */
type CompanyField =
  | Exclude<keyof CompanyDetails, 'kind' | 'bank' | 'signer'>
  | `bank.${keyof BankDetails}`
  | `signer.${keyof Signer}`

/** A problem of a value of company details. */
export type DetailProblem =
  | NumberProblem
  | TextProblem
  | { readonly kind: 'personName' }
  | { readonly kind: 'email' }
  | { readonly kind: 'ediId' }
  | { readonly kind: 'unexpected' }

interface FieldProblem {
  readonly field: CompanyField
  readonly problem: DetailProblem
}

/** Lengths that the tax service's schema of the universal transfer document allows. */
const lengthsMax = { name: 1000, address: 1000, bankName: 1000, signerPosition: 255, email: 254 }

/** Lenient on purpose: only sending to an address shows whether it works. */
const email = /^[^\s@<>",;]+@[^\s@<>",;]+\.[^\s@<>",;]+$/
/** An operator's prefix and the id that it has issued; it becomes part of a file's name. */
const ediId = /^2[A-Z]{2}[A-Za-z0-9-]{1,43}$/

/** Details in the form in which they are stored: without stray spaces; empty optional parts are absent. */
export function cleanCompanyDetails(details: CompanyDetails): CompanyDetails {
  const { kind, bank, signer } = details
  const kpp = cleanNumber(details.kpp ?? '').toUpperCase()
  const ediId = cleanText(details.ediId ?? '')
  return {
    kind,
    name: cleanText(details.name),
    inn: cleanNumber(details.inn),
    ...(kpp !== '' && { kpp }),
    ogrn: cleanNumber(details.ogrn),
    address: cleanText(details.address),
    ...(details.email !== undefined && { email: cleanText(details.email) }),
    ...(bank !== undefined && !isEmpty(bank) && { bank: cleanBank(bank) }),
    ...(signer !== undefined &&
      !isEmpty(signer) && { signer: { name: cleanText(signer.name), position: cleanText(signer.position) } }),
    ...(ediId !== '' && { ediId }),
  }
}

function cleanBank(bank: BankDetails): BankDetails {
  return {
    name: cleanText(bank.name),
    bic: cleanNumber(bank.bic),
    account: cleanNumber(bank.account),
    correspondentAccount: cleanNumber(bank.correspondentAccount),
  }
}

function isEmpty(part: BankDetails | Signer): boolean {
  return Object.values(part).every(value => cleanText(value as string) === '')
}

/** All problems of cleaned details, in the order of the fields. */
export function companyProblems(details: CompanyDetails): readonly FieldProblem[] {
  const { kind, bank, signer } = details
  const found: [CompanyField, DetailProblem | undefined][] = [
    ['name', nameProblem(details)],
    ['inn', present(details.inn) ?? checkInn(details.inn, kind)],
    ['kpp', kppProblem(details)],
    ['ogrn', present(details.ogrn) ?? checkOgrn(details.ogrn, kind)],
    ['address', checkText(details.address, lengthsMax.address)],
    ['email', details.email === undefined ? undefined : emailProblem(details.email)],
  ]
  if (bank !== undefined) {
    const correspondent = bank.correspondentAccount
    found.push(
      ['bank.name', checkText(bank.name, lengthsMax.bankName)],
      ['bank.bic', present(bank.bic) ?? checkBic(bank.bic)],
      ['bank.account', present(bank.account) ?? checkAccount(bank.account, bank.bic)],
      [
        'bank.correspondentAccount',
        present(correspondent) ?? checkCorrespondentAccount(correspondent, bank.bic),
      ],
    )
  }
  if (signer !== undefined) {
    found.push(
      ['signer.name', personProblem(signer.name)],
      ['signer.position', checkText(signer.position, lengthsMax.signerPosition)],
    )
  }
  if (details.ediId !== undefined && !ediId.test(details.ediId)) found.push(['ediId', { kind: 'ediId' }])
  return found.flatMap(([field, problem]) => (problem === undefined ? [] : [{ field, problem }]))
}

function present(text: string): TextProblem | undefined {
  return text === '' ? { kind: 'missing' } : undefined
}

function nameProblem({ kind, name }: CompanyDetails): DetailProblem | undefined {
  return kind === 'company' ? checkText(name, lengthsMax.name) : personProblem(name)
}

function personProblem(name: string): DetailProblem | undefined {
  const problem = checkText(name, lengthsMax.name)
  if (problem !== undefined) return problem
  return parsePersonName(name) === undefined ? { kind: 'personName' } : undefined
}

function kppProblem({ kind, kpp }: CompanyDetails): DetailProblem | undefined {
  if (kind === 'sole') return kpp === undefined ? undefined : { kind: 'unexpected' }
  return kpp === undefined ? { kind: 'missing' } : checkKpp(kpp)
}

function emailProblem(text: string): DetailProblem | undefined {
  const problem = checkText(text, lengthsMax.email)
  if (problem !== undefined) return problem
  return email.test(text) ? undefined : { kind: 'email' }
}

const fileText = z
  .string({ error: ({ input }) => (input === undefined ? 'is missing' : undefined) })
  .max(4000)

const companyFile = z.strictObject({
  kind: z.enum(['company', 'sole']),
  name: fileText,
  inn: fileText,
  kpp: fileText.optional(),
  ogrn: fileText,
  address: fileText,
  email: fileText,
  bank: z
    .strictObject({ name: fileText, bic: fileText, account: fileText, correspondentAccount: fileText })
    .optional(),
  signer: z.strictObject({ name: fileText, position: fileText }).optional(),
  ediId: fileText.optional(),
})

/**
 * Company details of a file, whose values may still be wrong.
 * @throws TypeError that names every member of another shape
 */
export function readCompany(value: unknown): CompanyDetails {
  const { data, error } = companyFile.safeParse(value)
  if (data === undefined) {
    throw new TypeError(
      error?.issues.map(({ path, message }) => `${path.join('.') || 'the file'}: ${message}`).join('; '),
    )
  }
  const { kpp, bank, signer, ediId, ...rest } = data
  return {
    ...rest,
    ...(kpp !== undefined && { kpp }),
    ...(bank !== undefined && { bank }),
    ...(signer !== undefined && { signer }),
    ...(ediId !== undefined && { ediId }),
  }
}

/** A problem as the config and the command line report it; pages show it in the reader's language. */
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

/** A person's name in the tax service's formats. */
interface PersonName {
  readonly surname: string
  readonly name: string
  readonly patronymic?: string
}

/** The prefix of a sole proprietor's name. */
const title = /^(?:ИП|индивидуальный предприниматель|глава КФХ)\s+/iu
const partLengthMax = 60

/**
 * Parses surname, name and patronymic, in that order, with or without «ИП» before them; undefined when a part is absent
 * or too long.
 */
export function parsePersonName(text: string): PersonName | undefined {
  const [surname, name, ...rest] = text.replace(title, '').split(' ').filter(Boolean)
  const patronymic = rest.join(' ')
  if (surname === undefined || name === undefined) return undefined
  if ([surname, name, patronymic].some(part => Array.from(part).length > partLengthMax)) return undefined
  return patronymic === '' ? { surname, name } : { surname, name, patronymic }
}

/** «Петров П. П.», the form in which a signature is explained. */
export function shortName(text: string): string {
  const person = parsePersonName(text)
  if (person === undefined) return text
  const initials = [person.name, ...(person.patronymic === undefined ? [] : [person.patronymic])]
  return `${person.surname} ${initials.map(part => `${Array.from(part)[0]}.`).join(' ')}`
}

import { z } from 'zod'
import type { CompanyDetails } from './company-details.ts'

const text = z.string().max(4000)

const company = z.strictObject({
  kind: z.enum(['company', 'sole']),
  name: text,
  inn: text,
  kpp: text.optional(),
  ogrn: text,
  address: text,
  email: text,
  bank: z.strictObject({ name: text, bic: text, account: text, correspondentAccount: text }).optional(),
  signer: z.strictObject({ name: text, position: text }).optional(),
  ediId: text.optional(),
})

/**
 * Company details of a file, which may be wrong yet in their values.
 * @throws TypeError that names every member of another shape
 */
export function readCompany(value: unknown): CompanyDetails {
  const { data, error } = company.safeParse(value)
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

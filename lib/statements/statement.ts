import type { Kopecks } from '../money/kopecks.ts'

/** One side of a payment as a bank's file has it; what the file does not say is an empty text. */
export interface PaymentSide {
  readonly account: string
  readonly inn: string
  readonly kpp: string
  readonly name: string
  readonly bic: string
}

/** A document of a statement. Days are ISO: `2026-01-11`. */
export interface StatementDocument {
  /** Where it begins in the file, from 1. */
  readonly line: number
  readonly kind: string
  readonly number: string
  readonly date: string
  readonly amount: Kopecks
  readonly payer: PaymentSide
  readonly payee: PaymentSide
  /** When the payee's bank took it in; absent of what went out. */
  readonly receivedOn?: string
  /** When the payer's bank sent it. */
  readonly sentOn?: string
  readonly purpose: string
}

/** What a statement says of an account over some days. */
export interface AccountSection {
  readonly line: number
  readonly account: string
  readonly from: string
  readonly to: string
  readonly opening?: Kopecks
  readonly received?: Kopecks
  readonly sent?: Kopecks
  readonly closing?: Kopecks
}

/** A file of the exchange between banks and 1C. */
export interface Statement {
  readonly sections: readonly AccountSection[]
  readonly documents: readonly StatementDocument[]
}

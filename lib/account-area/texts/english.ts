import { keys, newKey, revokeKey } from './en/keys.ts'
import { charge, charges, chargesTable, meters } from './en/charges.ts'
import { autoTopUp, autoTopUpEmails } from './en/auto-top-up.ts'
import { balance, payment, receipt } from './en/balance.ts'
import { company, documents, invoices } from './en/documents.ts'
import { letters, documentEmails, settingsLetters } from './en/emails.ts'
import { accounts, invitationEmail, members } from './en/members.ts'
import { models, quickStart } from './en/models.ts'
import { overview } from './en/overview.ts'
import { deletion, emailChange, settings } from './en/settings.ts'
import { fieldErrors, fields, secondStep, security } from '../../web/texts/en.ts'
import { failures, notices, shell } from './en/shell.ts'
import { checkMail, confirm, consents, forgotPassword, resetPassword, signIn, signUp } from './en/sign-in.ts'
import type { russian } from './russian.ts'

/** Every text of the account area in English. */
export const english: typeof russian = {
  shell,
  fields,
  fieldErrors,
  failures,
  notices,
  letters,
  signUp,
  checkMail,
  confirm,
  signIn,
  secondStep,
  forgotPassword,
  resetPassword,
  consents,
  overview,
  balance,
  payment,
  receipt,
  autoTopUp,
  autoTopUpEmails,
  security,
  keys,
  newKey,
  revokeKey,
  settings,
  emailChange,
  deletion,
  settingsLetters,
  meters,
  charges,
  charge,
  chargesTable,
  models,
  quickStart,
  members,
  accounts,
  invitationEmail,
  documentEmails,
  invoices,
  documents,
  company,
}

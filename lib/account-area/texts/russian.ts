import { keys, newKey, revokeKey } from './ru/keys.ts'
import { charge, charges, chargesTable, meters } from './ru/charges.ts'
import { autoTopUp, autoTopUpEmails } from './ru/auto-top-up.ts'
import { balance, payment, receipt } from './ru/balance.ts'
import { company, documents, invoices } from './ru/documents.ts'
import { letters, documentEmails, settingsLetters } from './ru/emails.ts'
import { accounts, invitationEmail, members } from './ru/members.ts'
import { models, quickStart } from './ru/models.ts'
import { overview } from './ru/overview.ts'
import { deletion, emailChange, settings } from './ru/settings.ts'
import { fieldErrors, fields, secondStep, security } from '../../web/texts/ru.ts'
import { failures, notices, shell } from './ru/shell.ts'
import { checkMail, confirm, consents, forgotPassword, resetPassword, signIn, signUp } from './ru/sign-in.ts'

/** Every text of the account area in Russian; its shape is the catalogue of all languages. */
export const russian = {
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

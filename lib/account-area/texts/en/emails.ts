import type * as russian from '../ru/emails.ts'

/** Emails about invoices and closing documents, with the document attached. */
export const documentEmails: typeof russian.documentEmails = {
  'invoice-made': {
    subject: ({ document, amount, site }) => `${document}, ${amount}: ${site}`,
    text: ({ site, document, amount, payUntil, purpose, link }) =>
      `Hello,\n\nattached is an invoice (${document}) for ${amount} to top up the balance in ${site}. Pay it until ${payUntil}.\n\nPurpose of the payment:\n${purpose}\n\nThe invoice and its state: ${link}\n\nThe closing document comes after the end of the month, for the services that were used.\n`,
  },
  'invoice-reminder': {
    subject: ({ document, payUntil, site }) => `Pay until ${payUntil}: ${document}, ${site}`,
    text: ({ site, document, amount, payUntil, purpose, link }) =>
      `Hello,\n\nthis is a reminder: an invoice of ${site} (${document}) is to be paid until ${payUntil}. Open: ${amount}. The invoice is attached.\n\nPurpose of the payment:\n${purpose}\n\nThe invoice and its state: ${link}\n\nIf you have paid already, there is nothing to do: a bank transfer takes up to three working days.\n`,
  },
  'invoice-overdue': {
    subject: ({ document, site }) => `Payment overdue: ${document}, ${site}`,
    text: ({ site, document, amount, payUntil, purpose, link }) =>
      `Hello,\n\nan invoice of ${site} (${document}) was to be paid until ${payUntil}. Open: ${amount}. It can still be paid; the invoice is attached.\n\nPurpose of the payment:\n${purpose}\n\nThe invoice and its state: ${link}\n\nIf you have paid already, there is nothing to do: a bank transfer takes up to three working days. If you do not need the invoice any more, cancel it on the page Balance.\n`,
  },
  'closing-issued': {
    subject: ({ document, site }) => `${document}: ${site}`,
    text: ({ site, document, amount, link, reason }) =>
      `Hello,\n\nattached is the closing document for the services of ${site}: ${document} for ${amount}.${reason === undefined ? '' : `\n\nIt corrects an earlier document. Reason: ${reason}.`}\n\nAll documents and the reconciliation statement: ${link}\n`,
  },
}

/** Emails about settings: plain text. */
export const settingsLetters: typeof russian.settingsLetters = {
  confirmEmail: {
    subject: name => `Confirm your new email: ${name}`,
    text: (name, link) =>
      `Hello,\n\nto make this address your email for ${name}, open this link where you are signed in:\n\n${link}\n\nThe link works for a day. If you did not ask for it, you need not do anything.\n`,
  },
  emailTaken: {
    subject: name => `This address is in use: ${name}`,
    text: name =>
      `Hello,\n\nsomebody tried to make this address their email for ${name}, but there is already an account with it. Nothing has changed, and you need not do anything.\n`,
  },
  emailChanged: {
    subject: name => `Your email was changed: ${name}`,
    text: (name, email, contact) =>
      `Hello,\n\nthe email of your account at ${name} was changed to ${email}. This address gets no more emails from us.\n\nIf it was not you, ${alarm(contact)}.\n`,
  },
  passwordChanged: {
    subject: name => `Your password was changed: ${name}`,
    text: (name, link) =>
      `Hello,\n\nyour password for ${name} was changed and your other sessions were ended. If it was you, you need not do anything.\n\nIf it was not you, set a new password at once:\n\n${link}\n`,
  },
  twoFactorOn: {
    subject: name => `Codes from an app were switched on: ${name}`,
    text: (name, link, contact) =>
      `Hello,\n\nsigning in to ${name} now takes a code from an app besides the password, and your other sessions were ended. If it was you, you need not do anything.\n\nIf it was not you, set a new password:\n\n${link}\n\nand ${alarm(contact)}.\n`,
  },
  twoFactorOff: {
    subject: name => `Codes from an app were switched off: ${name}`,
    text: (name, link) =>
      `Hello,\n\nsigning in to ${name} takes the password alone again, without a code from an app. If it was you, you need not do anything.\n\nIf it was not you, set a new password at once and switch the codes on again:\n\n${link}\n`,
  },
  backupCodes: {
    subject: name => `New backup codes: ${name}`,
    text: (name, link) =>
      `Hello,\n\nnew backup codes were created for signing in to ${name}, and the old ones no longer work. If it was you, you need not do anything.\n\nIf it was not you, set a new password at once:\n\n${link}\n`,
  },
  lowBalance: {
    subject: (name, balance) => `Balance ${balance}: ${name}`,
    text: (name, balance, below, link) =>
      `Hello,\n\nyour balance at ${name} has fallen below ${below}: ${balance} is left. When the money is used up, requests are refused.\n\nTop up: ${link}\n\nThis email comes once; the next one only after the balance has been above and falls again. You can change the amount in the settings.\n`,
  },
  deleted: {
    subject: name => `Your account was deleted: ${name}`,
    text: (name, number, rest, contact) =>
      `Hello,\n\nyour account at ${name} was deleted and its keys no longer work. Account number: ${number}.\n${rest === undefined ? '' : `\n${rest} is left in it. It is returned on an application that names this number.\n`}\nIf it was not you, ${alarm(contact)}.\n`,
  },
}

/** Emails of signing up and in: plain text. */
export const letters: typeof russian.letters = {
  confirm: {
    subject: name => `Confirm your email: ${name}`,
    text: (name, link) =>
      `Hello,\n\nto finish signing up for ${name}, open this link and enter your password:\n\n${link}\n\nThe link works for a day. If you did not sign up, you need not do anything: without the password the link is useless.\n`,
  },
  alreadySignedUp: {
    subject: name => `You already have an account: ${name}`,
    text: (name, link) =>
      `Hello,\n\nsomebody gave this address when signing up for ${name}, but there is already an account with it. If it was you, sign in or set a new password:\n\n${link}\n\nIf it was not, you need not do anything.\n`,
  },
  resetPassword: {
    subject: name => `A new password: ${name}`,
    text: (name, link) =>
      `Hello,\n\nto set a new password for ${name}, open this link:\n\n${link}\n\nThe link works for an hour, and once. If you did not ask for it, you need not do anything.\n`,
  },
  passwordChanged: {
    subject: name => `Your password was changed: ${name}`,
    text: (name, link) =>
      `Hello,\n\nyour password for ${name} was changed and all sessions were ended. If it was not you, set a new password at once:\n\n${link}\n`,
  },
}

/** Where somebody writes who did not do what an email tells of. */
function alarm(contact: string | undefined): string {
  return contact === undefined
    ? 'tell the operator of the service at once'
    : `write to us at once: ${contact}`
}

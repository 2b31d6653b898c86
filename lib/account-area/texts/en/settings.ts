import type * as russian from '../ru/settings.ts'

/** Settings of a user and their account, and deleting them. */
export const settings: typeof russian.settings = {
  title: 'Settings',
  general: 'General',
  parts: 'Parts of the settings',
  profile: 'Profile',
  profileHint: 'Only you see the name. Pages and letters are in the language that you choose.',
  save: 'Save',
  email: 'E-mail',
  emailNow: (email: string) => `Now: ${email}`,
  emailHint: 'A letter with a link goes to the new address. Until you confirm it nothing changes.',
  changeEmail: 'Change the e-mail',
  alert: 'Low-balance letter',
  alertText:
    'We write once when the balance falls below this amount, and again only after it has been above in between.',
  alertBelow: 'Write when below, ₽',
  alertHint: 'Leave it empty to get none.',
  deleteTitle: 'Deleting the account',
  deleteText: 'Keys stop working at once and personal data is removed. This cannot be undone.',
  deleteLink: 'Delete the account…',
  accountNumber: 'Account number',
}

/** The page behind the letter to a new address. */
export const emailChange: typeof russian.emailChange = {
  title: 'Your new e-mail',
  text: (email: string) => `Make ${email} your e-mail? You will sign in with it and get all letters there.`,
  submit: 'Confirm',
  dead: 'The link is too old, was used already or is not for your account. Ask for a new one in the settings.',
}

/** The page that asks before an account is deleted. */
export const deletion: typeof russian.deletion = {
  title: 'Delete the account?',
  what: 'What will happen',
  keys: 'All keys stop working at once. Requests that are running end and are charged.',
  sessions: 'All sessions end on all devices.',
  data: 'E-mail, name, password, codes, names of keys and lists of addresses are removed. You may sign up with this e-mail again: it will be a new, empty account.',
  ledger:
    'Charges and credits stay without a name, under the account number: the law has accounts of money kept. Your consents stay as well, with version, time and address, as proof.',
  money: (amount: string) => `${amount} will be left in the account`,
  moneyText: (number: string) =>
    `The money is not lost: it is returned on application. Name the account number ${number} in it; we send it to you in a letter, too.`,
  understood: 'I understand that I have to apply for what is left',
  submit: 'Delete for good',
  cancel: 'Do not delete',
}

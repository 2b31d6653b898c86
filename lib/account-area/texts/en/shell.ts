import type * as russian from '../ru/shell.ts'

/** What stands around every page, and what fields and errors say. */
export const shell: typeof russian.shell = {
  skip: 'Skip to content',
  navigation: 'Sections',
  overview: 'Overview',
  balance: 'Balance',
  keys: 'Keys',
  charges: 'Charges',
  models: 'Models',
  quickStart: 'Quick start',
  security: 'Security',
  settings: 'Settings',
  accounts: 'My accounts',
  signIn: 'Sign in',
  signUp: 'Sign up',
  signOut: 'Sign out',
  language: 'Language',
  theme: 'Appearance',
  themes: { system: 'As the system', light: 'Light', dark: 'Dark' },
  apply: 'Apply',
  offer: 'Offer',
  personalData: 'Personal data',
  support: (email: string) => `Support: ${email}`,
  request: 'Request',
  copy: 'Copy',
  copied: 'Copied',
  opensApp: 'Open in the app',
}

/** Names of fields, and hints under them. */
export const fields: typeof russian.fields = {
  name: 'Name',
  newEmail: 'New e-mail',
  email: 'E-mail',
  password: 'Password',
  currentPassword: 'Current password',
  newPassword: 'New password',
  passwordHint: 'At least 10 characters. A long phrase is better than a complicated word.',
  code: 'Code',
}

/** What is wrong with a field. */
export const fieldErrors: typeof russian.fieldErrors = {
  required: 'Fill in this field.',
  invalid: 'Check this field.',
  tooLong: 'Too long.',
  emailInvalid: 'This does not look like an e-mail address. An example: name@example.com',
  passwordShort: 'The password is shorter than 10 characters.',
  passwordLong: 'The password is longer than 128 characters.',
  passwordWrong: 'The password is wrong.',
  codeWrong: 'The code is wrong or too old. Enter a new one.',
  amountInvalid: 'Enter an amount in roubles above zero. An example: 500 or 1,000.50',
  amountSmall: 'The amount is less than the smallest top-up.',
  amountLarge: 'The amount is more than this way to pay accepts.',
  methodMissing: 'Choose how to pay.',
  tooOften: 'Too many payments were created in the last hour. Continue one of the unfinished ones.',
  cardUnknown: 'This card cannot be used. Choose another.',
  monthSmall: 'That is less than one top-up.',
  amountKopecks: 'Enter an amount with at most two decimals.',
  emailSame: 'This is your e-mail already.',
  emailsTooMany: 'Too many emails. Try again in an hour.',
  memberAlready: 'This person has access already.',
  membersFull: 'At most 20 people can be invited.',
  understoodMissing: 'Tick that you have understood this.',
  listLong: 'Too many lines: 100 at most.',
  dayInvalid: 'Write the day like this: 2027-01-31',
  daysSwapped: 'This day is before the first one.',
  dayPast: 'This day is over already.',
  addressesInvalid: 'Not all of these are IP addresses and networks. An example: 203.0.113.7, 10.0.0.0/8',
  offerMissing: 'You cannot go on without agreeing to the offer.',
  personalDataMissing: 'You cannot go on without consent to the processing of personal data.',
}

/** Pages shown when something went wrong. */
export const failures: typeof russian.failures = {
  summary: 'Check the marked fields',
  notFound: { title: 'Page not found', text: 'There is no such page, or the link is out of date.' },
  forbidden: {
    title: 'The form is out of date',
    text: 'The page was opened too long ago or in another window. Open it again and repeat.',
  },
  ownersOnly: { title: 'No access', text: 'This page is for the owner of the account.' },
  tooLarge: { title: 'Too much data', text: 'The form is larger than we accept.' },
  unavailable: {
    title: 'Not available for the moment',
    text: 'The store does not answer. Nothing is lost; try again in a minute.',
  },
  internal: {
    title: 'Something broke on our side',
    text: 'The error was recorded. If it happens again, give support the number of the request.',
  },
  home: 'To the start page',
}

/** What was done, said once on the next page. */
export const notices: typeof russian.notices = {
  'signed-out': 'You are signed out.',
  'password-reset': 'The password is changed and all sessions are ended. Sign in with the new password.',
  'password-changed': 'The password is changed and the other sessions are ended.',
  'session-ended': 'The session is ended.',
  'sessions-ended': 'The other sessions are ended.',
  'two-factor-on': 'Signing in by code is on, the other sessions are ended.',
  'two-factor-off': 'Signing in by code is off.',
  'letter-sent': 'If a letter could be sent, it is on its way.',
  'profile-saved': 'Saved.',
  'email-letter-sent': 'A letter was sent to the new address. Open the link in it.',
  'email-changed': 'Your e-mail was changed.',
  'alert-on': 'The low-balance letter is on.',
  'alert-off': 'The low-balance letter is off.',
  'invitation-sent': 'The invitation is sent.',
  'invitation-withdrawn': 'The invitation is withdrawn.',
  'invitation-declined': 'The invitation is declined.',
  'member-removed': 'The access is removed.',
  'account-left': 'You gave up the access.',
  'key-revoked': 'The key is revoked and works no more.',
  'auto-on': 'Automatic top-ups are on.',
  'auto-off': 'Automatic top-ups are off.',
  'card-unlinked': 'The card was unlinked and is not charged any more.',
  'account-deleted': 'Your account was deleted.',
}

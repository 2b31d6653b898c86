import type * as ru from './ru.ts'

/** What stands around every page. */
export const shell: typeof ru.shell = {
  skip: 'Skip to content',
  navigation: 'Sections',
  security: 'Security',
  signIn: 'Sign in',
  signOut: 'Sign out',
  language: 'Language',
  theme: 'Appearance',
  themes: { system: 'As the system', light: 'Light', dark: 'Dark' },
  apply: 'Apply',
  request: 'Request',
  copy: 'Copy',
  copied: 'Copied',
  opensApp: 'Open in the app',
}

/** Names of fields, and hints under them. */
export const fields: typeof ru.fields = {
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
export const fieldErrors: typeof ru.fieldErrors = {
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
  invoiceLarge: 'An invoice is for 100,000,000 ₽ at most.',
  invoicesTooMany: 'There are 20 invoices of today already. Go on tomorrow.',
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
export const failures: typeof ru.failures = {
  summary: 'Check the marked fields',
  notFound: { title: 'Page not found', text: 'There is no such page, or the link is out of date.' },
  forbidden: {
    title: 'The form is out of date',
    text: 'The page was opened too long ago or in another window. Open it again and repeat.',
  },
  tooOften: { title: 'Too many documents at once', text: 'Try again in a few minutes.' },
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
export const notices: typeof ru.notices = {
  'signed-out': 'You are signed out.',
  'password-changed': 'The password is changed and the other sessions are ended.',
  'session-ended': 'The session is ended.',
  'sessions-ended': 'The other sessions are ended.',
  'two-factor-on': 'Signing in by code is on, the other sessions are ended.',
  'two-factor-off': 'Signing in by code is off.',
}

/** Signing in. */
export const signIn: typeof ru.signIn = {
  title: 'Sign in',
  submit: 'Sign in',
  refused:
    'The e-mail or the password is wrong, or there were too many attempts. Wait 15 minutes or set a new password.',
}

/** The second step of signing in. */
export const secondStep: typeof ru.secondStep = {
  title: 'Confirmation code',
  text: 'Enter the six digits that your app shows, or one of the backup codes.',
  submit: 'Continue',
  over: 'Time is up, there were too many attempts, or the code was used before. Sign in once more with a new one.',
}

/** Password, code and sessions. */
export const security: typeof ru.security = {
  title: 'Security',
  password: 'Password',
  changePassword: 'Change the password',
  passwordHint: 'Changing it ends your other sessions.',
  sessions: 'Sessions',
  thisSession: 'this session',
  signedIn: 'Signed in',
  address: 'Address',
  device: 'Device',
  endSession: 'End',
  endSessionOf: (device: string) => `End the session: ${device}`,
  endOthers: 'End the other sessions',
  twoFactor: 'Signing in by code',
  on: 'on',
  twoFactorOn: 'On: besides the password, a code from your app is needed.',
  twoFactorOff: 'Off. With it, a stolen password alone does not open your account.',
  setUp: 'Switch on',
  remove: 'Switch off',
  setUpTitle: 'Signing in by code',
  setUpApp:
    'Scan the QR code with your app (Aegis, Google Authenticator, 1Password or another), or add the secret:',
  factorPicture: 'QR code with the secret, for an authenticator app',
  secret: 'Secret',
  backupCodes: 'Backup codes',
  backupHint: 'Each works once, when you do not have your phone. Save them: they are not shown again.',
  backupAgain: 'Are the codes used up or lost? Create new ones: the old codes stop working.',
  makeBackupCodes: 'Create new codes',
  backupMade: 'New codes were created. The old ones no longer work.',
  confirmHint: 'Then enter the code that the app shows.',
  confirm: 'Confirm the code',
  startAgain: 'Start again',
  unknownDevice: 'Unknown device',
}

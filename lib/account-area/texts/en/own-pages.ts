import type * as russian from '../ru/own-pages.ts'

/** The overview. */
export const overview: typeof russian.overview = {
  title: 'Overview',
  available: 'Available',
  balance: 'Balance',
  held: 'Held for requests',
  heldHint: 'What is held is released or charged when the requests end.',
}

/** Settings of security. */
export const security: typeof russian.security = {
  title: 'Security',
  password: 'Password',
  changePassword: 'Change the password',
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
  setUpApp: 'Add the secret to your app (Aegis, Google Authenticator, 1Password or another):',
  secret: 'Secret',
  backupCodes: 'Backup codes',
  backupHint: 'Each is good once, when your phone is not at hand. Keep them: they are not shown again.',
  confirmHint: 'Then enter the code that the app shows.',
  confirm: 'Confirm the code',
  startAgain: 'Start again',
  unknownDevice: 'Unknown device',
}

import type * as russian from '../ru/own-pages.ts'

/** Settings of security. */
export const security: typeof russian.security = {
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
    'Scan the picture with your app (Aegis, Google Authenticator, 1Password or another), or add the secret:',
  factorPicture: 'QR code with the secret, for an authenticator app',
  secret: 'Secret',
  backupCodes: 'Backup codes',
  backupHint: 'Each is good once, when your phone is not at hand. Keep them: they are not shown again.',
  confirmHint: 'Then enter the code that the app shows.',
  confirm: 'Confirm the code',
  startAgain: 'Start again',
  unknownDevice: 'Unknown device',
}

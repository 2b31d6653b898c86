import * as web from '../../../web/texts/en.ts'
import type * as russian from '../ru/shell.ts'

/** What stands around every page. */
export const shell: typeof russian.shell = {
  ...web.shell,
  overview: 'Overview',
  balance: 'Balance',
  keys: 'Keys',
  charges: 'Charges',
  models: 'Models',
  quickStart: 'Quick start',
  settings: 'Settings',
  accounts: 'My accounts',
  documents: 'Documents',
  signUp: 'Sign up',
  offer: 'Offer',
  personalData: 'Personal data',
  support: (email: string) => `Support: ${email}`,
}

/** Pages shown when something went wrong. */
export const failures: typeof russian.failures = {
  ...web.failures,
  denied: { title: 'No access', text: 'This page is for the owner of the account.' },
}

/** What was done, said once on the next page. */
export const notices: typeof russian.notices = {
  ...web.notices,
  'password-reset': 'The password is changed and the other sessions are ended.',
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
  'company-saved': 'The details are saved.',
  'invoice-cancelled': 'The invoice is cancelled.',
  'key-revoked': 'The key is revoked and works no more.',
  'auto-on': 'Automatic top-ups are on.',
  'auto-off': 'Automatic top-ups are off.',
  'card-unlinked': 'The card was unlinked and is not charged any more.',
  'account-deleted': 'Your account was deleted.',
}

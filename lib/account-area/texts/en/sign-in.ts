import * as web from '../../../web/texts/en.ts'
import type * as russian from '../ru/sign-in.ts'

/** Signing up and in. */
export const signUp: typeof russian.signUp = {
  title: 'Sign up',
  lead: 'One key for every model, paid in roubles.',
  consents: 'Consents',
  offer: 'I accept the terms of the offer',
  offerLink: 'The offer',
  personalData: 'I consent to the processing of my personal data',
  personalDataLink: 'Consent to the processing of personal data',
  version: (version: string) => `version ${version}`,
  submit: 'Sign up',
  hasAccount: 'Signed up already?',
}

export const checkMail: typeof russian.checkMail = {
  title: 'Check your mail',
  text: 'We have sent you a letter with a link. Open it to confirm the address. It is good for a day.',
  spam: 'No letter? Look into the spam folder, or have it sent again.',
  submit: 'Send again',
}

export const confirm: typeof russian.confirm = {
  title: 'Confirm your e-mail',
  text: 'Enter the password that you chose when you signed up.',
  submit: 'Confirm and sign in',
  dead: 'The link is out of date or no longer good. Sign in, and we will send a new one.',
}

export const signIn: typeof russian.signIn = {
  ...web.signIn,
  forgot: 'Forgot your password?',
  noAccount: 'No account yet?',
}

export const forgotPassword: typeof russian.forgotPassword = {
  title: 'A new password',
  text: 'We will send you a letter with a link to set a new password. It is good for an hour.',
  submit: 'Send the letter',
  sent: 'If there is such a user, the letter is on its way.',
}

export const resetPassword: typeof russian.resetPassword = {
  title: 'A new password',
  submit: 'Save the password',
  dead: 'The link is out of date or was used already. Ask for a new one.',
}

export const consents: typeof russian.consents = {
  title: 'Consents',
  text: 'We need your consent to go on.',
  submit: 'Continue',
}

import type * as russian from '../ru/letters.ts'

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

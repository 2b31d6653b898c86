import type * as russian from '../ru/letters.ts'

/** Letters by e-mail: plain text. */
export const letters: typeof russian.letters = {
  confirm: {
    subject: (name: string) => `Confirm your e-mail: ${name}`,
    text: (name: string, link: string) =>
      `Hello,\n\nto finish signing up for ${name}, open this link and enter your password:\n\n${link}\n\nIt is good for a day. If you did not sign up, there is nothing to do: the link is of no use without the password.\n`,
  },
  alreadySignedUp: {
    subject: (name: string) => `You are signed up already: ${name}`,
    text: (name: string, link: string) =>
      `Hello,\n\nsomebody gave this address when signing up for ${name}, but it has an account already. If it was you, sign in or set a new password:\n\n${link}\n\nIf it was not, there is nothing to do.\n`,
  },
  resetPassword: {
    subject: (name: string) => `A new password: ${name}`,
    text: (name: string, link: string) =>
      `Hello,\n\nto set a new password for ${name}, open this link:\n\n${link}\n\nIt is good for an hour and for one time. If you did not ask for it, there is nothing to do.\n`,
  },
  passwordChanged: {
    subject: (name: string) => `Your password was changed: ${name}`,
    text: (name: string, link: string) =>
      `Hello,\n\nyour password for ${name} was changed and the sessions were ended. If it was not you, set a new password at once:\n\n${link}\n`,
  },
}

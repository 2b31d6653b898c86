import type * as russian from '../ru/settings-letters.ts'

/** Letters about settings: plain text. */
export const settingsLetters: typeof russian.settingsLetters = {
  confirmEmail: {
    subject: (name: string) => `Confirm your new e-mail: ${name}`,
    text: (name: string, link: string) =>
      `Hello,\n\nto make this address your e-mail for ${name}, open this link where you are signed in:\n\n${link}\n\nIt is good for a day. If you did not ask for it, there is nothing to do.\n`,
  },
  emailTaken: {
    subject: (name: string) => `This address is in use: ${name}`,
    text: (name: string) =>
      `Hello,\n\nsomebody wanted to make this address their e-mail for ${name}, but it has an account already. Nothing has changed, and there is nothing to do.\n`,
  },
  emailChanged: {
    subject: (name: string) => `Your e-mail was changed: ${name}`,
    text: (name: string, email: string) =>
      `Hello,\n\nthe e-mail of your account at ${name} was changed to ${email}. No more letters will come here.\n\nIf it was not you, answer this letter at once.\n`,
  },
  passwordChanged: {
    subject: (name: string) => `Your password was changed: ${name}`,
    text: (name: string, link: string) =>
      `Hello,\n\nyour password for ${name} was changed and the other sessions were ended. If it was you, there is nothing to do.\n\nIf it was not you, set a new password at once:\n\n${link}\n`,
  },
  twoFactorOn: {
    subject: (name: string) => `Codes from an app were switched on: ${name}`,
    text: (name: string, link: string) =>
      `Hello,\n\nsigning in to ${name} now takes a code from an app besides the password, and the other sessions were ended. If it was you, there is nothing to do.\n\nIf it was not you, answer this letter at once and set a new password:\n\n${link}\n`,
  },
  twoFactorOff: {
    subject: (name: string) => `Codes from an app were switched off: ${name}`,
    text: (name: string, link: string) =>
      `Hello,\n\nsigning in to ${name} takes the password alone again, without a code from an app. If it was you, there is nothing to do.\n\nIf it was not you, set a new password at once and switch the codes on again:\n\n${link}\n`,
  },
  lowBalance: {
    subject: (name: string, balance: string) => `Balance ${balance}: ${name}`,
    text: (name: string, balance: string, below: string, link: string) =>
      `Hello,\n\nyour balance at ${name} has fallen below ${below}: ${balance} is left. When the money is used up, requests are refused.\n\nOverview: ${link}\n\nThis letter comes once; the next one only after the balance has been above and falls again. You can change the amount in the settings.\n`,
  },
  deleted: {
    subject: (name: string) => `Your account was deleted: ${name}`,
    text: (name: string, number: string, rest: string | undefined) =>
      `Hello,\n\nyour account at ${name} was deleted and its keys do not work any more. Account number: ${number}.\n${rest === undefined ? '' : `\n${rest} is left in it. It is returned on an application that names this number.\n`}\nIf it was not you, answer this letter at once.\n`,
  },
}

import type { Recipient } from '../../web/sign-in/auth.ts'
import { textsOf } from '../texts/texts.ts'
import { chooseLanguage } from '../../web/texts/web-texts.ts'
import type { Mailer } from './mailer.ts'

interface InvitationEmailOptions {
  readonly mailer: Pick<Mailer, 'send'>
  readonly publicUrl: URL
  /** Of the site. */
  readonly name: string
}

/** Sends invitations to an account, in the name of the user who invites. */
export function invitationEmails({ mailer, publicUrl, name }: InvitationEmailOptions) {
  return ({ email, language }: Recipient, inviter: string): void => {
    const { subject, text } = textsOf(chooseLanguage(language, undefined, undefined)).invitationEmail
    const link = new URL('/accounts', publicUrl).href
    mailer.send({ to: email, subject: subject(name), text: text({ site: name, inviter, email, link }) })
  }
}

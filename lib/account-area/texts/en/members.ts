import type * as russian from '../ru/members.ts'

/** Who has access to an account. */
export const members: typeof russian.members = {
  title: 'Access',
  owner: 'Owner',
  accountant: 'Accountant',
  people: 'People with access',
  person: 'Person',
  role: 'Role',
  since: 'Since',
  you: 'this is you',
  remove: 'Remove',
  removeOf: email => `Remove access of ${email}`,
  invite: 'Invite an accountant',
  inviteText:
    'An accountant sees the balance, payments, invoices and documents, can make an invoice and change the company details. They see neither keys nor requests.',
  email: 'Email of the accountant',
  emailHint: 'They receive an email and sign in with this address.',
  send: 'Send the invitation',
  invitations: 'Invitations',
  openUntil: day => `open until ${day}`,
  withdraw: 'Withdraw',
  withdrawOf: email => `Withdraw the invitation of ${email}`,
}

/** The accounts of a user, and invitations to others. */
export const accounts: typeof russian.accounts = {
  title: 'My accounts',
  text: 'You can work with several accounts. Pages show the one you selected.',
  current: 'selected',
  use: 'Select',
  useOf: name => `Select ${name}`,
  leave: 'Leave',
  leaveOf: name => `Give up access to ${name}`,
  invitations: 'Invitations',
  invited: name => `You are invited to do the accounting of ${name}`,
  accept: 'Accept',
  acceptOf: name => `Accept the invitation of ${name}`,
  decline: 'Decline',
  declineOf: name => `Decline the invitation of ${name}`,
  waiting: 'You are invited to another account.',
  look: 'See the invitation',
}

/** The email of an invitation. */
export const invitationEmail: typeof russian.invitationEmail = {
  subject: site => `Invitation to do the accounting: ${site}`,
  text: ({ site, inviter, email, link }) =>
    `Hello,\n\n${inviter} invites you to do their accounting in ${site}: to see the balance, payments, invoices and closing documents.\n\nOpen the link and sign in as ${email}, or sign up with this address if you have not yet:\n\n${link}\n\nThe invitation is open for two weeks. If you did not expect it, there is nothing to do.\n`,
}

import type * as russian from '../ru/auto-top-up.ts'

/** Automatic top-ups: their page. */
export const autoTopUp: typeof russian.autoTopUp = {
  title: 'Automatic top-up',
  settings: 'Settings',
  on: 'on',
  off: 'Off. With automatic top-ups, requests do not stop when the money runs out.',
  offReasons: {
    card: 'Off: the card was unlinked.',
    failures: 'Off: the card could not be charged. Check the card and switch it on again.',
  },
  rule: (below, amount, card) => `When less than ${below} is left, we charge ${amount}: ${card}.`,
  month: (taken, max) => `${taken} of ${max} charged this month.`,
  when: 'Terms',
  fields: {
    below: 'When less is left than, ₽',
    amount: 'Top up by, ₽',
    monthMax: 'At most a month, ₽',
    card: 'Card',
  },
  hints: {
    below: 'What is available counts: without the amounts that requests hold.',
    amount: 'You get an email about each charge.',
    monthMax: 'By calendar month, Moscow time.',
  },
  consent:
    'By switching this on you allow us to charge the card on these terms without confirming each payment. You can switch it off or unlink the card here at any time.',
  switchOn: 'Switch on',
  save: 'Save',
  switchOff: 'Switch automatic top-ups off',
  cards: 'Saved cards',
  saved: time => `saved ${time}`,
  unlink: 'Unlink',
  unlinkCard: card => `Unlink: ${card}`,
  unlinkHint: 'We forget an unlinked card at once and can no longer charge it.',
  noCard: 'There is no saved card. Top up by card and tick “Save the card for automatic top-ups”.',
  toTopUp: 'Top up and save a card',
  notOffered: 'Automatic top-ups are not available now: nothing is charged.',
}

/** Emails about automatic top-ups: plain text. */
export const autoTopUpEmails: typeof russian.autoTopUpEmails = {
  paid: {
    subject: (name, amount) => `Balance topped up by ${amount}: ${name}`,
    text: (name, { amount, card, balance, link }) =>
      `Hello,\n\nyour balance at ${name} was topped up automatically by ${amount}: ${card}. The balance is now ${balance}.\n\nChange the terms or unlink the card: ${link}\n`,
  },
  failed: {
    subject: name => `Automatic top-up failed: ${name}`,
    text: (name, { amount, card, reason, next, link }) =>
      `Hello,\n\nwe could not charge ${amount} to top up your balance at ${name}: ${card}.\n\n${reason}\n\n${next}\n\nTop up by hand: ${link}\n`,
    again: 'We try again in a day.',
    off: 'Automatic top-ups are off now. You can switch them on again on the page “Automatic top-up”.',
    cardForgotten:
      'The card was unlinked and automatic top-ups are off. To use them again, save the card once more.',
  },
  limit: {
    subject: name => `Automatic top-ups paused until next month: ${name}`,
    text: (name, max, link) =>
      `Hello,\n\nyour balance at ${name} is below your bound again, but one more top-up would go beyond ${max} a month. We charge nothing until the next month begins.\n\nTop up by hand or change the limit: ${link}\n`,
  },
  on: {
    subject: name => `Automatic top-ups are on: ${name}`,
    text: (name, { rule, max, link }) =>
      `Hello,\n\nautomatic top-ups are on at ${name}. ${rule} At most ${max} a month.\n\nIf it was not you, switch them off at once and change your password: ${link}\n`,
  },
  off: {
    subject: name => `Automatic top-ups are off: ${name}`,
    text: (name, link) =>
      `Hello,\n\nautomatic top-ups are off at ${name}. Nothing more is charged.\n\nSwitch them on again: ${link}\n`,
  },
  unlinked: {
    subject: name => `Card unlinked: ${name}`,
    text: (name, card, link) =>
      `Hello,\n\na card was unlinked from ${name}: ${card}. We can no longer charge it.\n\nSaved cards: ${link}\n`,
  },
}

import type * as russian from '../ru/overview.ts'

/** The overview. */
export const overview: typeof russian.overview = {
  title: 'Overview',
  available: 'Available',
  balance: 'Balance',
  held: 'Held for requests',
  debt: amount => `Debt: ${amount}. The next top-up pays it first; paid requests are refused until then.`,
  heldHint: 'What is held is released or charged when the requests end.',
  start: 'How to begin',
  steps: {
    key: { title: 'Make a key', text: 'With it your program shows that a request is yours.' },
    money: {
      title: 'Top up the balance',
      text: 'By card or SBP; the money is there in less than a minute.',
    },
    quickStart: { title: 'Send a first request', text: 'Ready examples for your language and editor.' },
  },
  topUp: 'Top up',
  makeKey: 'Make a key',
  quickStart: 'To the quick start',
  isDone: 'done',
  spending: 'Spending',
  today: 'Today',
  days: (count: number) => `In ${count} days`,
  requests: (count: string) => `requests: ${count}`,
  chart: 'Spending by day and model',
  chartHint: (total: string, days: number) =>
    `A bar for each of ${days} days, ${total} in all. The same numbers are in the table below.`,
  noSpending: (days: number) => `Nothing was spent in the last ${days} days.`,
  others: 'other models',
  asTable: 'Show as a table',
  day: 'Day',
  total: 'Total',
  moscow: "Days are Moscow's.",
  last: 'Last requests',
  all: 'All charges',
  time: 'Time',
  model: 'Model',
  key: 'Key',
  amount: 'Amount',
  open: (model: string, time: string) => `Details: ${model}, ${time}`,
}

const ru = {
  /** The page of automatic top-ups. */
  autoTopUp: {
    title: 'Автопополнение',
    settings: 'Настроить',
    on: 'включено',
    off: 'Выключено. С автопополнением запросы не остановятся, когда деньги закончатся.',
    offReasons: {
      card: 'Выключено: карта отвязана.',
      failures: 'Выключено: списать деньги с карты не удалось. Проверьте карту и включите снова.',
    },
    rule: (below: string, amount: string, card: string) =>
      `Когда на балансе останется меньше ${below}, мы спишем ${amount}: ${card}.`,
    month: (taken: string, max: string) => `В этом месяце списано ${taken} из ${max}.`,
    when: 'Условия',
    fields: {
      below: 'Когда останется меньше, ₽',
      amount: 'Пополнять на, ₽',
      monthMax: 'Не больше в месяц, ₽',
      card: 'Карта',
    },
    hints: {
      below: 'Считается доступное: без сумм, удержанных под запросы.',
      amount: 'О каждом списании придёт письмо.',
      monthMax: 'За календарный месяц по московскому времени.',
    },
    consent:
      'Включая автопополнение, вы разрешаете списывать деньги с карты по этим условиям без подтверждения каждого платежа. Выключить его или отвязать карту можно здесь в любой момент.',
    switchOn: 'Включить',
    save: 'Сохранить',
    switchOff: 'Выключить автопополнение',
    cards: 'Сохранённые карты',
    saved: (time: string) => `сохранена ${time}`,
    unlink: 'Отвязать',
    unlinkCard: (card: string) => `Отвязать: ${card}`,
    unlinkHint: 'Отвязанную карту мы забываем сразу и больше не можем с неё списать.',
    noCard: 'Сохранённых карт нет. Пополните баланс картой и отметьте «Сохранить карту для автопополнения».',
    toTopUp: 'Пополнить и сохранить карту',
    notOffered: 'Автопополнение сейчас недоступно: списаний не будет.',
  },
  /** Emails about automatic top-ups: plain text. */
  autoTopUpEmails: {
    paid: {
      subject: (name: string, amount: string) => `Баланс пополнен на ${amount}: ${name}`,
      text: (name: string, facts: { amount: string; card: string; balance: string; link: string }) =>
        `Здравствуйте!\n\nБаланс в ${name} пополнен автоматически на ${facts.amount}: ${facts.card}. Сейчас на балансе ${facts.balance}.\n\nИзменить условия или отвязать карту: ${facts.link}\n`,
    },
    failed: {
      subject: (name: string) => `Автопополнение не удалось: ${name}`,
      text: (
        name: string,
        facts: { amount: string; card: string; reason: string; next: string; link: string },
      ) =>
        `Здравствуйте!\n\nНам не удалось списать ${facts.amount} для пополнения баланса в ${name}: ${facts.card}.\n\n${facts.reason}\n\n${facts.next}\n\nПополнить вручную: ${facts.link}\n`,
      again: 'Мы попробуем ещё раз через сутки.',
      off: 'Автопополнение выключено. Включить его снова можно на странице «Автопополнение».',
      cardForgotten:
        'Карта отвязана, автопополнение выключено. Чтобы включить его снова, сохраните карту ещё раз.',
    },
    limit: {
      subject: (name: string) => `Автопополнение приостановлено до следующего месяца: ${name}`,
      text: (name: string, max: string, link: string) =>
        `Здравствуйте!\n\nБаланс в ${name} снова ниже вашей границы, но ещё одно пополнение превысило бы ${max} в месяц. До начала следующего месяца мы ничего не спишем.\n\nПополнить вручную или изменить предел: ${link}\n`,
    },
    on: {
      subject: (name: string) => `Автопополнение включено: ${name}`,
      text: (name: string, facts: { rule: string; max: string; link: string }) =>
        `Здравствуйте!\n\nВ ${name} включено автопополнение. ${facts.rule} Не больше ${facts.max} в месяц.\n\nЕсли это были не вы, сразу выключите его и смените пароль: ${facts.link}\n`,
    },
    off: {
      subject: (name: string) => `Автопополнение выключено: ${name}`,
      text: (name: string, link: string) =>
        `Здравствуйте!\n\nАвтопополнение в ${name} выключено, списаний больше не будет.\n\nВключить снова: ${link}\n`,
    },
    unlinked: {
      subject: (name: string) => `Карта отвязана: ${name}`,
      text: (name: string, card: string, link: string) =>
        `Здравствуйте!\n\nКарта отвязана от ${name}: ${card}. Списать с неё деньги мы больше не можем.\n\nСохранённые карты: ${link}\n`,
    },
  },
}

const en: typeof ru = {
  autoTopUp: {
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
  },
  autoTopUpEmails: {
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
  },
}

export const autoTopUpTexts = { ru, en }

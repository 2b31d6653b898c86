/** Automatic top-ups: their page. */
export const autoTopUp = {
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
}

/** Emails about automatic top-ups: plain text. */
export const autoTopUpEmails = {
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
}

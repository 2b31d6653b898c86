interface InvoiceEmail {
  readonly site: string
  /** «Счёт № 12 от 20.11.2026». */
  readonly document: string
  /** What is still to be paid. */
  readonly amount: string
  readonly payUntil: string
  readonly purpose: string
  readonly link: string
}

/** Emails about invoices and closing documents, with the document attached. */
export const documentEmails = {
  'invoice-made': {
    subject: (invoice: InvoiceEmail) => `${invoice.document} на ${invoice.amount}: ${invoice.site}`,
    text: ({ site, document, amount, payUntil, purpose, link }: InvoiceEmail) =>
      `Здравствуйте!\n\n${document} на ${amount} для пополнения баланса в ${site} — во вложении. Оплатите его до ${payUntil}.\n\nНазначение платежа:\n${purpose}\n\nСчёт и его состояние: ${link}\n\nЗакрывающий документ придёт после конца месяца на сумму использованных услуг.\n`,
  },
  'invoice-reminder': {
    subject: ({ document, payUntil, site }: InvoiceEmail) => `Оплатите до ${payUntil}: ${document}, ${site}`,
    text: ({ site, document, amount, payUntil, purpose, link }: InvoiceEmail) =>
      `Здравствуйте!\n\nНапоминаем: ${document} в ${site} нужно оплатить до ${payUntil}. К оплате ${amount}. Счёт во вложении.\n\nНазначение платежа:\n${purpose}\n\nСчёт и его состояние: ${link}\n\nЕсли вы уже заплатили, ничего делать не нужно: банковский перевод идёт до трёх рабочих дней.\n`,
  },
  'invoice-overdue': {
    subject: ({ document, site }: InvoiceEmail) => `Срок оплаты прошёл: ${document}, ${site}`,
    text: ({ site, document, amount, payUntil, purpose, link }: InvoiceEmail) =>
      `Здравствуйте!\n\nСрок оплаты прошёл ${payUntil}: ${document} в ${site}. К оплате ${amount}. Оплатить его ещё можно; счёт во вложении.\n\nНазначение платежа:\n${purpose}\n\nСчёт и его состояние: ${link}\n\nЕсли вы уже заплатили, ничего делать не нужно: банковский перевод идёт до трёх рабочих дней. Если счёт больше не нужен, отмените его на странице «Баланс».\n`,
  },
  'closing-issued': {
    subject: ({ document, site }: { readonly document: string; readonly site: string }) =>
      `${document}: ${site}`,
    text: (closing: {
      readonly site: string
      readonly document: string
      readonly amount: string
      readonly link: string
      readonly reason: string | undefined
    }) =>
      `Здравствуйте!\n\n${closing.document} на ${closing.amount} за услуги ${closing.site} — во вложении.${closing.reason === undefined ? '' : `\n\nЭто исправление прежнего документа. Причина: ${closing.reason}.`}\n\nВсе документы и акт сверки: ${closing.link}\n`,
  },
}

/** Emails about settings: plain text. `contact` is the operator's address, where there is one that is read. */
export const settingsLetters = {
  confirmEmail: {
    subject: (name: string) => `Подтвердите новую почту: ${name}`,
    text: (name: string, link: string) =>
      `Здравствуйте!\n\nЧтобы сделать этот адрес своей почтой в ${name}, откройте ссылку там, где вы вошли:\n\n${link}\n\nСсылка действует сутки. Если вы этого не просили, ничего делать не нужно.\n`,
  },
  emailTaken: {
    subject: (name: string) => `Этот адрес уже используется: ${name}`,
    text: (name: string) =>
      `Здравствуйте!\n\nКто-то хотел сделать этот адрес своей почтой в ${name}, но учётная запись с ним уже есть. Ничего не изменилось, делать ничего не нужно.\n`,
  },
  emailChanged: {
    subject: (name: string) => `Почта изменена: ${name}`,
    text: (name: string, email: string, contact: string | undefined) =>
      `Здравствуйте!\n\nПочта вашей учётной записи в ${name} изменена на ${email}. На этот адрес писем больше не будет.\n\nЕсли это были не вы, ${alarm(contact)}.\n`,
  },
  passwordChanged: {
    subject: (name: string) => `Пароль изменён: ${name}`,
    text: (name: string, link: string) =>
      `Здравствуйте!\n\nВаш пароль в ${name} изменён, остальные сеансы завершены. Если это были вы, ничего делать не нужно.\n\nЕсли это были не вы, сразу задайте новый пароль:\n\n${link}\n`,
  },
  twoFactorOn: {
    subject: (name: string) => `Вход по коду включён: ${name}`,
    text: (name: string, link: string, contact: string | undefined) =>
      `Здравствуйте!\n\nДля входа в ${name} теперь кроме пароля нужен код из приложения, остальные сеансы завершены. Если это были вы, ничего делать не нужно.\n\nЕсли это были не вы, задайте новый пароль:\n\n${link}\n\nи ${alarm(contact)}.\n`,
  },
  twoFactorOff: {
    subject: (name: string) => `Вход по коду отключён: ${name}`,
    text: (name: string, link: string) =>
      `Здравствуйте!\n\nДля входа в ${name} снова достаточно пароля, без кода из приложения. Если это были вы, ничего делать не нужно.\n\nЕсли это были не вы, сразу задайте новый пароль и включите вход по коду снова:\n\n${link}\n`,
  },
  backupCodes: {
    subject: (name: string) => `Новые резервные коды: ${name}`,
    text: (name: string, link: string) =>
      `Здравствуйте!\n\nДля входа в ${name} созданы новые резервные коды, прежние больше не действуют. Если это были вы, ничего делать не нужно.\n\nЕсли это были не вы, сразу задайте новый пароль:\n\n${link}\n`,
  },
  lowBalance: {
    subject: (name: string, balance: string) => `Баланс ${balance}: ${name}`,
    text: (name: string, balance: string, below: string, link: string) =>
      `Здравствуйте!\n\nБаланс в ${name} опустился ниже ${below}: осталось ${balance}. Когда деньги закончатся, запросы будут отклоняться.\n\nПополнить баланс: ${link}\n\nЭто письмо приходит один раз; следующее будет, только если баланс поднимется выше и снова упадёт. Сумму можно изменить в настройках.\n`,
  },
  deleted: {
    subject: (name: string) => `Учётная запись удалена: ${name}`,
    text: (name: string, number: string, rest: string | undefined, contact: string | undefined) =>
      `Здравствуйте!\n\nВаша учётная запись в ${name} удалена, ключи больше не работают. Номер счёта: ${number}.\n${rest === undefined ? '' : `\nНа счёте осталось ${rest}. Остаток возвращается по заявлению, в котором указан этот номер.\n`}\nЕсли это были не вы, ${alarm(contact)}.\n`,
  },
}

/** Letters by e-mail: plain text. */
export const letters = {
  confirm: {
    subject: (name: string) => `Подтвердите почту: ${name}`,
    text: (name: string, link: string) =>
      `Здравствуйте!\n\nЧтобы завершить регистрацию в ${name}, откройте ссылку и введите свой пароль:\n\n${link}\n\nСсылка действует сутки. Если вы не регистрировались, ничего делать не нужно: без пароля ссылка бесполезна.\n`,
  },
  alreadySignedUp: {
    subject: (name: string) => `Вы уже зарегистрированы: ${name}`,
    text: (name: string, link: string) =>
      `Здравствуйте!\n\nКто-то указал этот адрес при регистрации в ${name}, но учётная запись с ним уже есть. Если это были вы, войдите или задайте новый пароль:\n\n${link}\n\nЕсли не вы, ничего делать не нужно.\n`,
  },
  resetPassword: {
    subject: (name: string) => `Новый пароль: ${name}`,
    text: (name: string, link: string) =>
      `Здравствуйте!\n\nЧтобы задать новый пароль в ${name}, откройте ссылку:\n\n${link}\n\nСсылка действует час и только один раз. Если вы этого не просили, ничего делать не нужно.\n`,
  },
  passwordChanged: {
    subject: (name: string) => `Пароль изменён: ${name}`,
    text: (name: string, link: string) =>
      `Здравствуйте!\n\nВаш пароль в ${name} изменён, прежние сеансы завершены. Если это были не вы, сразу задайте новый пароль:\n\n${link}\n`,
  },
}

/** Where somebody writes who did not do what an email tells of. */
function alarm(contact: string | undefined): string {
  return contact === undefined ? 'сразу сообщите об этом владельцу сервиса' : `сразу напишите нам: ${contact}`
}

/** Where somebody writes who did not do what an email tells of. */
function alarm(contact: string | undefined): string {
  return contact === undefined ? 'сразу сообщите об этом владельцу сервиса' : `сразу напишите нам: ${contact}`
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

/** Letters about settings: plain text. */
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
    text: (name: string, email: string) =>
      `Здравствуйте!\n\nПочта вашей учётной записи в ${name} изменена на ${email}. На этот адрес писем больше не будет.\n\nЕсли это были не вы, сразу ответьте на это письмо.\n`,
  },
  lowBalance: {
    subject: (name: string, balance: string) => `Баланс ${balance}: ${name}`,
    text: (name: string, balance: string, below: string, link: string) =>
      `Здравствуйте!\n\nБаланс в ${name} опустился ниже ${below}: осталось ${balance}. Когда деньги закончатся, запросы будут отклоняться.\n\nОбзор: ${link}\n\nЭто письмо приходит один раз; следующее будет, только если баланс поднимется выше и снова упадёт. Сумму можно изменить в настройках.\n`,
  },
  deleted: {
    subject: (name: string) => `Учётная запись удалена: ${name}`,
    text: (name: string, number: string, rest: string | undefined) =>
      `Здравствуйте!\n\nВаша учётная запись в ${name} удалена, ключи больше не работают. Номер счёта: ${number}.\n${rest === undefined ? '' : `\nНа счёте осталось ${rest}. Остаток возвращается по заявлению, в котором указан этот номер.\n`}\nЕсли это были не вы, сразу ответьте на это письмо.\n`,
  },
}

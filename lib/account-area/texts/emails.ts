interface InvoiceEmail {
  readonly site: string
  /** «Счёт № 12 от 20.11.2026». */
  readonly document: string
  /** The unpaid amount. */
  readonly amount: string
  readonly payUntil: string
  readonly purpose: string
  readonly link: string
}

/** Where to report an action that the recipient did not take. */
function alarm(contact: string | undefined): string {
  return contact === undefined ? 'сразу сообщите об этом владельцу сервиса' : `сразу напишите нам: ${contact}`
}

/** Where to report an action that the recipient did not take. */
function alarmEnglish(contact: string | undefined): string {
  return contact === undefined
    ? 'tell the operator of the service at once'
    : `write to us at once: ${contact}`
}

const ru = {
  /** Emails about invoices and closing documents, with the document attached. */
  documentEmails: {
    'invoice-made': {
      subject: (invoice: InvoiceEmail) => `${invoice.document} на ${invoice.amount}: ${invoice.site}`,
      text: ({ site, document, amount, payUntil, purpose, link }: InvoiceEmail) =>
        `Здравствуйте!\n\n${document} на ${amount} для пополнения баланса в ${site} — во вложении. Оплатите его до ${payUntil}.\n\nНазначение платежа:\n${purpose}\n\nСчёт и его состояние: ${link}\n\nЗакрывающий документ придёт после конца месяца на сумму использованных услуг.\n`,
    },
    'invoice-reminder': {
      subject: ({ document, payUntil, site }: InvoiceEmail) =>
        `Оплатите до ${payUntil}: ${document}, ${site}`,
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
  },
  /** Emails about settings, as plain text. `contact` is the operator's support address, if there is one. */
  settingsEmails: {
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
  },
  /** Emails, as plain text. */
  emails: {
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
  },
}

const en: typeof ru = {
  documentEmails: {
    'invoice-made': {
      subject: ({ document, amount, site }) => `${document}, ${amount}: ${site}`,
      text: ({ site, document, amount, payUntil, purpose, link }) =>
        `Hello,\n\nattached is an invoice (${document}) for ${amount} to top up the balance in ${site}. Pay it by ${payUntil}.\n\nPurpose of the payment:\n${purpose}\n\nThe invoice and its state: ${link}\n\nThe closing document comes after the end of the month, for the services that were used.\n`,
    },
    'invoice-reminder': {
      subject: ({ document, payUntil, site }) => `Pay by ${payUntil}: ${document}, ${site}`,
      text: ({ site, document, amount, payUntil, purpose, link }) =>
        `Hello,\n\nthis is a reminder: an invoice of ${site} (${document}) is to be paid by ${payUntil}. Open: ${amount}. The invoice is attached.\n\nPurpose of the payment:\n${purpose}\n\nThe invoice and its state: ${link}\n\nIf you have paid already, there is nothing to do: a bank transfer takes up to three working days.\n`,
    },
    'invoice-overdue': {
      subject: ({ document, site }) => `Payment overdue: ${document}, ${site}`,
      text: ({ site, document, amount, payUntil, purpose, link }) =>
        `Hello,\n\nan invoice of ${site} (${document}) was to be paid by ${payUntil}. Open: ${amount}. It can still be paid; the invoice is attached.\n\nPurpose of the payment:\n${purpose}\n\nThe invoice and its state: ${link}\n\nIf you have paid already, there is nothing to do: a bank transfer takes up to three working days. If you do not need the invoice any more, cancel it on the page Balance.\n`,
    },
    'closing-issued': {
      subject: ({ document, site }) => `${document}: ${site}`,
      text: ({ site, document, amount, link, reason }) =>
        `Hello,\n\nattached is the closing document for the services of ${site}: ${document} for ${amount}.${reason === undefined ? '' : `\n\nIt corrects an earlier document. Reason: ${reason}.`}\n\nAll documents and the reconciliation statement: ${link}\n`,
    },
  },
  settingsEmails: {
    confirmEmail: {
      subject: name => `Confirm your new email: ${name}`,
      text: (name, link) =>
        `Hello,\n\nto make this address your email for ${name}, open this link where you are signed in:\n\n${link}\n\nThe link works for a day. If you did not ask for it, you need not do anything.\n`,
    },
    emailTaken: {
      subject: name => `This address is in use: ${name}`,
      text: name =>
        `Hello,\n\nsomebody tried to make this address their email for ${name}, but there is already an account with it. Nothing has changed, and you need not do anything.\n`,
    },
    emailChanged: {
      subject: name => `Your email was changed: ${name}`,
      text: (name, email, contact) =>
        `Hello,\n\nthe email of your account at ${name} was changed to ${email}. This address gets no more emails from us.\n\nIf it was not you, ${alarmEnglish(contact)}.\n`,
    },
    passwordChanged: {
      subject: name => `Your password was changed: ${name}`,
      text: (name, link) =>
        `Hello,\n\nyour password for ${name} was changed and your other sessions were ended. If it was you, you need not do anything.\n\nIf it was not you, set a new password at once:\n\n${link}\n`,
    },
    twoFactorOn: {
      subject: name => `Codes from an app were switched on: ${name}`,
      text: (name, link, contact) =>
        `Hello,\n\nsigning in to ${name} now takes a code from an app besides the password, and your other sessions were ended. If it was you, you need not do anything.\n\nIf it was not you, set a new password:\n\n${link}\n\nand ${alarmEnglish(contact)}.\n`,
    },
    twoFactorOff: {
      subject: name => `Codes from an app were switched off: ${name}`,
      text: (name, link) =>
        `Hello,\n\nsigning in to ${name} takes the password alone again, without a code from an app. If it was you, you need not do anything.\n\nIf it was not you, set a new password at once and switch the codes on again:\n\n${link}\n`,
    },
    backupCodes: {
      subject: name => `New backup codes: ${name}`,
      text: (name, link) =>
        `Hello,\n\nnew backup codes were created for signing in to ${name}, and the old ones no longer work. If it was you, you need not do anything.\n\nIf it was not you, set a new password at once:\n\n${link}\n`,
    },
    lowBalance: {
      subject: (name, balance) => `Balance ${balance}: ${name}`,
      text: (name, balance, below, link) =>
        `Hello,\n\nyour balance at ${name} has fallen below ${below}: ${balance} is left. When the money is used up, requests are refused.\n\nTop up: ${link}\n\nThis email comes once; the next one only after the balance has been above and falls again. You can change the amount in the settings.\n`,
    },
    deleted: {
      subject: name => `Your account was deleted: ${name}`,
      text: (name, number, rest, contact) =>
        `Hello,\n\nyour account at ${name} was deleted and its keys no longer work. Account number: ${number}.\n${rest === undefined ? '' : `\n${rest} is left in it. It is returned on an application that names this number.\n`}\nIf it was not you, ${alarmEnglish(contact)}.\n`,
    },
  },
  emails: {
    confirm: {
      subject: name => `Confirm your email: ${name}`,
      text: (name, link) =>
        `Hello,\n\nto finish signing up for ${name}, open this link and enter your password:\n\n${link}\n\nThe link works for a day. If you did not sign up, you need not do anything: without the password the link is useless.\n`,
    },
    alreadySignedUp: {
      subject: name => `You already have an account: ${name}`,
      text: (name, link) =>
        `Hello,\n\nsomebody gave this address when signing up for ${name}, but there is already an account with it. If it was you, sign in or set a new password:\n\n${link}\n\nIf it was not, you need not do anything.\n`,
    },
    resetPassword: {
      subject: name => `A new password: ${name}`,
      text: (name, link) =>
        `Hello,\n\nto set a new password for ${name}, open this link:\n\n${link}\n\nThe link works for an hour, and once. If you did not ask for it, you need not do anything.\n`,
    },
    passwordChanged: {
      subject: name => `Your password was changed: ${name}`,
      text: (name, link) =>
        `Hello,\n\nyour password for ${name} was changed and all sessions were ended. If it was not you, set a new password at once:\n\n${link}\n`,
    },
  },
}

export const emailsTexts = { ru, en }

const ru = {
  /** Settings of a user and their account, and deleting them. */
  settings: {
    title: 'Настройки',
    general: 'Общие',
    parts: 'Части настроек',
    profile: 'Профиль',
    profileHint: 'Имя видите только вы. На выбранном языке показываем страницы и пишем письма.',
    save: 'Сохранить',
    email: 'Электронная почта',
    emailNow: (email: string) => `Сейчас: ${email}`,
    emailHint: 'На новый адрес придёт письмо со ссылкой. До подтверждения ничего не изменится.',
    changeEmail: 'Сменить почту',
    alert: 'Письмо о низком балансе',
    alertText:
      'Напишем один раз, когда баланс опустится ниже этой суммы, и снова — только если он успеет подняться выше.',
    alertBelow: 'Писать, если меньше, ₽',
    alertHint: 'Пусто — не писать.',
    deleteTitle: 'Удаление учётной записи',
    deleteText: 'Ключи перестанут работать сразу, личные данные будут удалены. Отменить это нельзя.',
    deleteLink: 'Удалить учётную запись…',
    accountNumber: 'Номер счёта',
  },
  /** The page of the link to confirm a new address. */
  emailChange: {
    title: 'Новая почта',
    text: (email: string) =>
      `Сделать ${email} вашей почтой? С ней вы будете входить, на неё придут все письма.`,
    submit: 'Подтвердить',
    dead: 'Ссылка устарела, уже использована или не для вашей учётной записи. Запросите новую в настройках.',
  },
  /** The page that asks for confirmation before an account is deleted. */
  deletion: {
    title: 'Удалить учётную запись?',
    what: 'Что произойдёт',
    keys: 'Все ключи перестанут работать сразу. Запросы, которые уже идут, закончатся и спишутся.',
    sessions: 'Все сеансы завершатся на всех устройствах.',
    data: 'Почта, имя, пароль, коды, названия ключей и списки адресов будут удалены. С этой почтой можно зарегистрироваться снова: это будет новый, пустой счёт.',
    ledger:
      'Списания и пополнения останутся без имени, под номером счёта: такие записи хранятся по закону. Останутся и ваши согласия — с версией, временем и адресом — как доказательство.',
    money: (amount: string) => `На счёте останется ${amount}`,
    moneyText: (number: string) =>
      `Деньги не пропадут: остаток возвращается по заявлению. В нём укажите номер счёта ${number}; мы пришлём его и письмом.`,
    understood: 'Понимаю, что за остатком нужно обратиться с заявлением',
    submit: 'Удалить навсегда',
    cancel: 'Не удалять',
  },
  /** The members of an account. */
  members: {
    title: 'Доступ',
    owner: 'Владелец',
    accountant: 'Бухгалтер',
    people: 'Кто имеет доступ',
    person: 'Кто',
    role: 'Роль',
    since: 'С какого дня',
    you: 'это вы',
    remove: 'Закрыть доступ',
    removeOf: (email: string) => `Закрыть доступ: ${email}`,
    invite: 'Пригласить бухгалтера',
    inviteText:
      'Бухгалтер видит баланс, платежи, счета и документы, может выставить счёт и поправить реквизиты. Ключей и запросов он не видит.',
    email: 'Почта бухгалтера',
    emailHint: 'Придёт письмо. Войти нужно будет с этой почтой.',
    send: 'Отправить приглашение',
    invitations: 'Приглашения',
    openUntil: (day: string) => `действует до ${day}`,
    withdraw: 'Отозвать',
    withdrawOf: (email: string) => `Отозвать приглашение: ${email}`,
  },
  /** The accounts of a user, and invitations to others. */
  accounts: {
    title: 'Лицевые счета',
    text: 'Вы можете работать с несколькими лицевыми счетами. Страницы показывают выбранный.',
    current: 'выбран',
    use: 'Выбрать',
    useOf: (name: string) => `Выбрать: ${name}`,
    leave: 'Отказаться',
    leaveOf: (name: string) => `Отказаться от доступа: ${name}`,
    invitations: 'Приглашения',
    invited: (name: string) => `Вас приглашают вести бухгалтерию: ${name}`,
    accept: 'Принять',
    acceptOf: (name: string) => `Принять приглашение: ${name}`,
    decline: 'Отклонить',
    declineOf: (name: string) => `Отклонить приглашение: ${name}`,
    waiting: 'Вас пригласили к чужому лицевому счёту.',
    look: 'Посмотреть приглашение',
  },
  invitationEmail: {
    subject: (site: string) => `Приглашение вести бухгалтерию: ${site}`,
    text: (invitation: {
      readonly site: string
      readonly inviter: string
      readonly email: string
      readonly link: string
    }) =>
      `Здравствуйте!\n\n${invitation.inviter} приглашает вас вести бухгалтерию в ${invitation.site}: видеть баланс, платежи, счета и закрывающие документы.\n\nОткройте ссылку и войдите с почтой ${invitation.email}, а если учётной записи ещё нет, зарегистрируйтесь с ней:\n\n${invitation.link}\n\nПриглашение действует две недели. Если вы его не ждали, ничего делать не нужно.\n`,
  },
}

const en: typeof ru = {
  settings: {
    title: 'Settings',
    general: 'General',
    parts: 'Parts of the settings',
    profile: 'Profile',
    profileHint: 'Only you see the name. Pages and emails are in the language that you choose.',
    save: 'Save',
    email: 'Email',
    emailNow: (email: string) => `Now: ${email}`,
    emailHint: 'An email with a link goes to the new address. Until you confirm it nothing changes.',
    changeEmail: 'Change the email',
    alert: 'Low-balance email',
    alertText:
      'We write once when the balance falls below this amount, and again only after it has been above in between.',
    alertBelow: 'Write when below, ₽',
    alertHint: 'Leave it empty to get none.',
    deleteTitle: 'Deleting the account',
    deleteText: 'Keys stop working at once and personal data is removed. This cannot be undone.',
    deleteLink: 'Delete the account…',
    accountNumber: 'Account number',
  },
  emailChange: {
    title: 'Your new email',
    text: (email: string) => `Make ${email} your email? You will sign in with it and get all emails there.`,
    submit: 'Confirm',
    dead: 'The link is too old, was used already or is not for your account. Ask for a new one in the settings.',
  },
  deletion: {
    title: 'Delete the account?',
    what: 'What will happen',
    keys: 'All keys stop working at once. Requests that are running end and are charged.',
    sessions: 'All sessions end on all devices.',
    data: 'Email, name, password, codes, names of keys and lists of addresses are removed. You may sign up with this email again: it will be a new, empty account.',
    ledger:
      'Charges and credits stay without a name, under the account number: the law has accounts of money kept. Your consents stay as well, with version, time and address, as proof.',
    money: (amount: string) => `${amount} will be left in the account`,
    moneyText: (number: string) =>
      `The money is not lost: it is returned on application. Name the account number ${number} in it; we send it to you in an email, too.`,
    understood: 'I understand that I have to apply for what is left',
    submit: 'Delete for good',
    cancel: 'Do not delete',
  },
  members: {
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
  },
  accounts: {
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
  },
  invitationEmail: {
    subject: site => `Invitation to do the accounting: ${site}`,
    text: ({ site, inviter, email, link }) =>
      `Hello,\n\n${inviter} invites you to do their accounting in ${site}: to see the balance, payments, invoices and closing documents.\n\nOpen the link and sign in as ${email}, or sign up with this address if you have not yet:\n\n${link}\n\nThe invitation is open for two weeks. If you did not expect it, there is nothing to do.\n`,
  },
}

export const settingsTexts = { ru, en }

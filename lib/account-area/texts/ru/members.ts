/** Who has access to an account. */
export const members = {
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
}

/** The accounts of a user, and invitations to others. */
export const accounts = {
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
}

/** The email of an invitation. */
export const invitationEmail = {
  subject: (site: string) => `Приглашение вести бухгалтерию: ${site}`,
  text: (invitation: {
    readonly site: string
    readonly inviter: string
    readonly email: string
    readonly link: string
  }) =>
    `Здравствуйте!\n\n${invitation.inviter} приглашает вас вести бухгалтерию в ${invitation.site}: видеть баланс, платежи, счета и закрывающие документы.\n\nОткройте ссылку и войдите с почтой ${invitation.email}, а если учётной записи ещё нет, зарегистрируйтесь с ней:\n\n${invitation.link}\n\nПриглашение действует две недели. Если вы его не ждали, ничего делать не нужно.\n`,
}

/** What stands around every page, and what fields and errors say. */
export const shell = {
  skip: 'К содержанию',
  navigation: 'Разделы',
  overview: 'Обзор',
  balance: 'Баланс',
  keys: 'Ключи',
  charges: 'Списания',
  models: 'Модели',
  quickStart: 'Быстрый старт',
  security: 'Безопасность',
  settings: 'Настройки',
  accounts: 'Лицевые счета',
  signIn: 'Войти',
  signUp: 'Регистрация',
  signOut: 'Выйти',
  language: 'Язык',
  theme: 'Оформление',
  themes: { system: 'Как в системе', light: 'Светлое', dark: 'Тёмное' },
  apply: 'Применить',
  offer: 'Оферта',
  personalData: 'Персональные данные',
  support: (email: string) => `Поддержка: ${email}`,
  request: 'Запрос',
  copy: 'Скопировать',
  copied: 'Скопировано',
  opensApp: 'Открыть в приложении',
}

/** Names of fields, and hints under them. */
export const fields = {
  name: 'Имя',
  newEmail: 'Новая почта',
  email: 'Электронная почта',
  password: 'Пароль',
  currentPassword: 'Текущий пароль',
  newPassword: 'Новый пароль',
  passwordHint: 'Не короче 10 знаков. Лучше длинная фраза, чем сложное слово.',
  code: 'Код',
}

/** What is wrong with a field. */
export const fieldErrors = {
  required: 'Заполните это поле.',
  invalid: 'Проверьте это поле.',
  tooLong: 'Слишком длинно.',
  emailInvalid: 'Это не похоже на адрес электронной почты. Пример: name@example.ru',
  passwordShort: 'Пароль короче 10 знаков.',
  passwordLong: 'Пароль длиннее 128 знаков.',
  passwordWrong: 'Пароль неверен.',
  codeWrong: 'Код неверен или устарел. Введите новый.',
  amountInvalid: 'Введите сумму в рублях больше нуля. Пример: 500 или 1 000,50',
  amountSmall: 'Сумма меньше наименьшей для пополнения.',
  amountLarge: 'Сумма больше, чем принимает этот способ оплаты.',
  amountKopecks: 'Введите сумму с точностью до копейки.',
  emailSame: 'Это и есть ваша почта.',
  emailsTooMany: 'Слишком много писем. Повторите через час.',
  memberAlready: 'У этого человека уже есть доступ.',
  membersFull: 'Больше 20 человек пригласить нельзя.',
  understoodMissing: 'Отметьте, что вы это поняли.',
  listLong: 'Слишком много строк: не больше 100.',
  dayInvalid: 'Введите день так: 2027-01-31',
  daysSwapped: 'Этот день раньше, чем первый.',
  dayPast: 'Этот день уже прошёл.',
  addressesInvalid: 'Здесь не только IP-адреса и сети. Пример: 203.0.113.7, 10.0.0.0/8',
  offerMissing: 'Без согласия с офертой продолжить нельзя.',
  personalDataMissing: 'Без согласия на обработку персональных данных продолжить нельзя.',
}

/** Pages shown when something went wrong. */
export const failures = {
  summary: 'Проверьте отмеченные поля',
  notFound: { title: 'Страница не найдена', text: 'Такой страницы нет, или ссылка устарела.' },
  forbidden: {
    title: 'Форма устарела',
    text: 'Страница была открыта слишком давно или в другом окне. Откройте её снова и повторите.',
  },
  ownersOnly: {
    title: 'Нет доступа',
    text: 'Эта страница — для владельца лицевого счёта.',
  },
  tooLarge: { title: 'Слишком много данных', text: 'Форма больше, чем мы принимаем.' },
  unavailable: {
    title: 'Временно недоступно',
    text: 'Хранилище не отвечает. Ничего не потеряно; повторите через минуту.',
  },
  internal: {
    title: 'Что-то сломалось у нас',
    text: 'Ошибка записана. Если она повторится, сообщите в поддержку номер запроса.',
  },
  home: 'На главную',
}

/** What was done, said once on the next page. */
export const notices = {
  'signed-out': 'Вы вышли.',
  'password-reset': 'Пароль изменён, все сеансы завершены. Войдите с новым паролем.',
  'password-changed': 'Пароль изменён, остальные сеансы завершены.',
  'session-ended': 'Сеанс завершён.',
  'sessions-ended': 'Остальные сеансы завершены.',
  'two-factor-on': 'Вход по коду включён, остальные сеансы завершены.',
  'two-factor-off': 'Вход по коду выключен.',
  'letter-sent': 'Если письмо можно было отправить, оно уже в пути.',
  'profile-saved': 'Сохранено.',
  'email-letter-sent': 'Письмо отправлено на новый адрес. Откройте ссылку из него.',
  'email-changed': 'Почта изменена.',
  'alert-on': 'Письмо о низком балансе включено.',
  'alert-off': 'Письмо о низком балансе выключено.',
  'invitation-sent': 'Приглашение отправлено.',
  'invitation-withdrawn': 'Приглашение отозвано.',
  'invitation-declined': 'Приглашение отклонено.',
  'member-removed': 'Доступ закрыт.',
  'account-left': 'Вы отказались от доступа.',
  'key-revoked': 'Ключ отозван и больше не работает.',
  'account-deleted': 'Учётная запись удалена.',
}

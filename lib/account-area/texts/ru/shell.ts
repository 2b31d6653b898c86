import * as web from '../../../web/texts/ru.ts'

/** What stands around every page. */
export const shell = {
  ...web.shell,
  overview: 'Обзор',
  balance: 'Баланс',
  keys: 'Ключи',
  charges: 'Списания',
  models: 'Модели',
  quickStart: 'Быстрый старт',
  settings: 'Настройки',
  accounts: 'Лицевые счета',
  documents: 'Документы',
  signUp: 'Регистрация',
  offer: 'Оферта',
  personalData: 'Персональные данные',
  support: (email: string) => `Поддержка: ${email}`,
}

/** Pages shown when something went wrong. */
export const failures = {
  ...web.failures,
  denied: {
    title: 'Нет доступа',
    text: 'Эта страница — для владельца лицевого счёта.',
  },
}

/** What was done, said once on the next page. */
export const notices = {
  ...web.notices,
  'password-reset': 'Пароль изменён, другие сеансы завершены.',
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
  'company-saved': 'Реквизиты сохранены.',
  'invoice-cancelled': 'Счёт отменён.',
  'key-revoked': 'Ключ отозван и больше не работает.',
  'auto-on': 'Автопополнение включено.',
  'auto-off': 'Автопополнение выключено.',
  'card-unlinked': 'Карта отвязана и больше не будет списываться.',
  'account-deleted': 'Учётная запись удалена.',
}

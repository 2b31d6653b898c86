/** The overview. */
export const overview = {
  title: 'Обзор',
  available: 'Доступно',
  balance: 'Баланс',
  held: 'Удержано под запросы',
  heldHint: 'Удержанное вернётся или спишется, когда запросы закончатся.',
}

/** Settings of security. */
export const security = {
  title: 'Безопасность',
  password: 'Пароль',
  changePassword: 'Сменить пароль',
  sessions: 'Сеансы',
  thisSession: 'этот сеанс',
  signedIn: 'Вход выполнен',
  address: 'Адрес',
  device: 'Устройство',
  endSession: 'Завершить',
  endSessionOf: (device: string) => `Завершить сеанс: ${device}`,
  endOthers: 'Завершить остальные сеансы',
  twoFactor: 'Вход по коду',
  on: 'включён',
  twoFactorOn: 'Включён: кроме пароля нужен код из приложения.',
  twoFactorOff: 'Выключен. С ним одного украденного пароля мало, чтобы войти.',
  setUp: 'Включить',
  remove: 'Выключить',
  setUpTitle: 'Вход по коду',
  setUpApp: 'Добавьте секрет в приложение (Яндекс Ключ, Google Authenticator, Aegis или другое):',
  secret: 'Секрет',
  backupCodes: 'Резервные коды',
  backupHint: 'Каждый подходит один раз, если телефона нет под рукой. Сохраните их: больше они не покажутся.',
  confirmHint: 'Затем введите код, который показывает приложение.',
  confirm: 'Подтвердить код',
  startAgain: 'Начать заново',
  unknownDevice: 'Неизвестное устройство',
}

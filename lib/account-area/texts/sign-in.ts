import { webTexts } from '../../web/texts/web-texts.ts'

const ru = {
  signUp: {
    title: 'Регистрация',
    lead: 'Один ключ ко всем моделям, оплата в рублях.',
    consents: 'Согласия',
    offer: 'Принимаю условия оферты',
    offerLink: 'Оферта',
    personalData: 'Даю согласие на обработку персональных данных',
    personalDataLink: 'Согласие на обработку персональных данных',
    version: (version: string) => `редакция ${version}`,
    submit: 'Зарегистрироваться',
    hasAccount: 'Уже зарегистрированы?',
  },
  checkMail: {
    title: 'Проверьте почту',
    text: 'Мы отправили письмо со ссылкой. Откройте её, чтобы подтвердить адрес. Ссылка действует сутки.',
    spam: 'Письма нет? Загляните в «Спам» или отправьте ещё раз.',
    submit: 'Отправить ещё раз',
  },
  confirm: {
    title: 'Подтверждение почты',
    text: 'Введите пароль, который вы задали при регистрации.',
    submit: 'Подтвердить и войти',
    dead: 'Ссылка устарела или уже не действует. Войдите, и мы отправим новую.',
  },
  signIn: { ...webTexts.ru.signIn, forgot: 'Забыли пароль?', noAccount: 'Ещё нет учётной записи?' },
  forgotPassword: {
    title: 'Новый пароль',
    text: 'Мы отправим письмо со ссылкой, по которой можно задать новый пароль. Ссылка действует час.',
    submit: 'Отправить письмо',
    sent: 'Если такой пользователь есть, письмо уже в пути.',
  },
  resetPassword: {
    title: 'Новый пароль',
    submit: 'Сохранить пароль',
    dead: 'Ссылка устарела или уже использована. Запросите новую.',
  },
  consents: { title: 'Согласия', text: 'Чтобы продолжить, нужно ваше согласие.', submit: 'Продолжить' },
}

const en: typeof ru = {
  signUp: {
    title: 'Sign up',
    lead: 'One key for every model, paid in roubles.',
    consents: 'Consents',
    offer: 'I accept the terms of the offer',
    offerLink: 'The offer',
    personalData: 'I consent to the processing of my personal data',
    personalDataLink: 'Consent to the processing of personal data',
    version: (version: string) => `version ${version}`,
    submit: 'Sign up',
    hasAccount: 'Signed up already?',
  },
  checkMail: {
    title: 'Check your mail',
    text: 'We have sent you an email with a link. Open it to confirm the address. It is good for a day.',
    spam: 'No email? Look into the spam folder, or have it sent again.',
    submit: 'Send again',
  },
  confirm: {
    title: 'Confirm your email',
    text: 'Enter the password that you chose when you signed up.',
    submit: 'Confirm and sign in',
    dead: 'The link is out of date or no longer good. Sign in, and we will send a new one.',
  },
  signIn: { ...webTexts.en.signIn, forgot: 'Forgot your password?', noAccount: 'No account yet?' },
  forgotPassword: {
    title: 'A new password',
    text: 'We will send you an email with a link to set a new password. It is good for an hour.',
    submit: 'Send the email',
    sent: 'If there is such a user, the email is on its way.',
  },
  resetPassword: {
    title: 'A new password',
    submit: 'Save the password',
    dead: 'The link is out of date or was used already. Ask for a new one.',
  },
  consents: { title: 'Consents', text: 'We need your consent to go on.', submit: 'Continue' },
}

export const signInTexts = { ru, en }

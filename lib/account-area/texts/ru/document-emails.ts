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

import type { documentCodes } from '../../documents/document.ts'
import type { rateCodes } from '../../prices/rate-book.ts'
import type { statementCodes } from '../../statements/statement.ts'

/** A text for each code; `{name}` is replaced by a detail of the reason. */
interface Refused {
  readonly documentRefusals: Readonly<Record<(typeof documentCodes)[number], string>>
  readonly statementRefusals: Readonly<Record<(typeof statementCodes)[number], string>>
  readonly rateRefusals: Readonly<Record<(typeof rateCodes)[number], string>>
  /** The prefix of a text about a line of a file. */
  readonly atLine: string
}

const ru: Refused = {
  atLine: 'Строка {line}.',
  documentRefusals: {
    company_missing: 'У счёта {account} нет реквизитов компании.',
    company_wrong: 'Реквизиты неверны: {fields}.',
    days_swapped: 'Последний день, {to}, раньше первого, {from}.',
    document_not_found: 'Документа {id} нет.',
    image_missing: 'В хранилище нет изображения {image}.',
    invoice_amount: 'Счёт на оплату бывает от 0,01 ₽ до {mostKopecks}, в целых копейках.',
    invoice_not_found: 'Счёта на оплату {id} нет, либо он уже оплачен или отменён.',
    invoice_of_another: 'Счёт на оплату {id} принадлежит другому счёту.',
    month_invalid: '«{month}» — не месяц. Месяц пишется так: 2026-11.',
    month_not_begun: 'Месяц {month} ещё не начался.',
    reason_unprintable: 'Такую причину нельзя напечатать в документе.',
    seller_other: 'Документ {id} выставил другой продавец, ИНН {inn}.',
    tax_missing: 'В настройке seller.tax ничего нет о дне {day}. Добавьте период, который начинается раньше.',
    transfer_ambiguous: 'Символов «{id}» мало, чтобы узнать перевод. Укажите больше.',
    transfer_changed: 'Перевод {id} только что изменил кто-то другой. Посмотрите на него ещё раз.',
    transfer_decided: 'Перевод {id} уже зачислен или возвращён. Сначала отмените это.',
    transfer_not_found: 'Перевода {id} нет.',
    transfer_queued: 'С переводом {id} ничего не сделано: он в очереди.',
  },
  statementRefusals: {
    account_none: 'В выписке нет ни одного счёта; счёт продавца — {own}.',
    account_other: 'Выписка по счёту {found}, а счёт продавца — {own}.',
    amount_unreadable: '{key}: «{value}» — не сумма в рублях. Она пишется так: 45329.91.',
    amount_zero: 'Сумма должна быть больше нуля.',
    day_uncovered: 'Документ поступил {day}, а этого дня в выписке нет.',
    day_unreadable: '{key}: «{value}» — не дата. Она пишется так: 11.01.2026.',
    encoding_broken: 'Выписка начинается в кодировке {encoding}, а дальше идут не её байты.',
    encoding_unknown:
      'В начале файла не читается ВерсияФормата. Выгрузите выписку в windows-1251, DOS (cp866) или UTF-8.',
    encoding_utf16: 'Выписка в UTF-16. Выгрузите её в windows-1251, DOS (cp866) или UTF-8.',
    end_missing: 'Нет строки КонецФайла: файл обрезан. Выгрузите его заново.',
    goes_on: 'После КонецФайла файл продолжается. Склеенные файлы загружайте по одному.',
    key_missing: 'В секции нет поля {key}.',
    no_statement: 'Это не выписка банка: она начинается с 1CClientBankExchange.',
    payment_doubled: 'Такой же платёж есть в строке {first}, и ни один итог не говорит, что пришли оба.',
    section_cut: 'У секции нет {end}: файл обрезан после строки {lines}. Выгрузите его заново.',
    section_not_begun: '{key} закрывает секцию, которая не начиналась.',
    section_within: 'Секция начинается внутри секции из строки {other}.',
    statement_large: 'Выписка больше {megabytes} МБ. Выгрузите её за более короткое время.',
    totals_differ:
      '{name}: {saidKopecks}, а документы с {from} по {to} дают {foundKopecks}. Каких-то нет, или они изменены или повторяются.',
    totals_doubled:
      '{name}: {saidKopecks}, а документы с {from} по {to} дают {foundKopecks}. Документ из строки {first} повторяется в строке {again}.',
    value_long: '{key} длиной {length}; читается не больше {most} символов.',
    value_twice: '{key} отличается от значения в строке {other} той же секции.',
    version_missing: 'Нет поля ВерсияФормата.',
    version_unknown: 'Версия формата {version}; известны {known}.',
  },
  rateRefusals: {
    dollar_missing: 'В списке курсов нет доллара.',
    dollar_unreadable: 'Курс доллара не читается: «{value}» за «{nominal}».',
    dollar_zero: 'Курс доллара равен нулю.',
    list_unreadable: 'Список курсов — не XML.',
    no_list: 'Это не список курсов Банка России.',
    none_held: 'Ни один курс не ждёт подтверждения.',
    rate_not_held: 'Курс за {day} не ждёт подтверждения: возможно, его уже принял кто-то другой.',
  },
}

const en: Refused = {
  atLine: 'Line {line}.',
  documentRefusals: {
    company_missing: 'The account {account} has no company details.',
    company_wrong: 'The details are wrong: {fields}.',
    days_swapped: 'The last day, {to}, is before the first, {from}.',
    document_not_found: 'There is no document {id}.',
    image_missing: 'The store has no image {image}.',
    invoice_amount: 'An invoice is for 0.01 ₽ to {mostKopecks}, in whole kopecks.',
    invoice_not_found: 'There is no invoice {id}, or it is paid or canceled already.',
    invoice_of_another: 'The invoice {id} is of another account.',
    month_invalid: '“{month}” is no month. A month is written 2026-11.',
    month_not_begun: 'The month {month} has not begun.',
    reason_unprintable: 'Such a reason cannot be printed on a document.',
    seller_other: 'The document {id} was issued by another seller, INN {inn}.',
    tax_missing: 'The setting seller.tax says nothing of {day}. Add a period that begins before it.',
    transfer_ambiguous: '“{id}” is not enough of the transfer’s id. Give more of its characters.',
    transfer_changed: 'Somebody else has just changed the transfer {id}. Look at it again.',
    transfer_decided: 'The transfer {id} is credited or returned. Undo that first.',
    transfer_not_found: 'There is no transfer {id}.',
    transfer_queued: 'Nothing was done with the transfer {id}: it is in the queue.',
  },
  statementRefusals: {
    account_none: 'The statement is of no account; the seller’s is {own}.',
    account_other: 'The statement is of the account {found}; the seller’s is {own}.',
    amount_unreadable: '{key}: “{value}” is no amount in roubles. It is written 45329.91.',
    amount_zero: 'Сумма must be more than nothing.',
    day_uncovered: 'The document came in on {day}, a day that the statement does not cover.',
    day_unreadable: '{key}: “{value}” is no day. It is written 11.01.2026.',
    encoding_broken: 'The statement begins in {encoding}, and goes on with bytes that are not.',
    encoding_unknown:
      'ВерсияФормата cannot be read near the beginning. Export the statement in windows-1251, DOS (cp866) or UTF-8.',
    encoding_utf16: 'The statement is in UTF-16. Export it in windows-1251, DOS (cp866) or UTF-8.',
    end_missing: 'КонецФайла is missing: the file is cut off. Export it again.',
    goes_on: 'The file goes on after КонецФайла. Import files that were joined one by one.',
    key_missing: 'The section has no {key}.',
    no_statement: 'This is no bank statement: one begins with 1CClientBankExchange.',
    payment_doubled: 'The same payment is in line {first}, and no total says that both came.',
    section_cut: 'The section has no {end}: the file is cut off after line {lines}. Export it again.',
    section_not_begun: '{key} ends a section that has not begun.',
    section_within: 'A section begins within the one of line {other}.',
    statement_large: 'The statement is larger than {megabytes} MB. Export a shorter period.',
    totals_differ:
      '{name} is {saidKopecks}, and the documents from {from} to {to} make {foundKopecks}. Some are missing, changed or doubled.',
    totals_doubled:
      '{name} is {saidKopecks}, and the documents from {from} to {to} make {foundKopecks}. The document of line {first} is again in line {again}.',
    value_long: '{key} has {length} characters; at most {most} are read.',
    value_twice: '{key} has another value than in line {other} of the same section.',
    version_missing: 'ВерсияФормата is missing.',
    version_unknown: 'The version of the format is {version}; {known} are known.',
  },
  rateRefusals: {
    dollar_missing: 'The list of rates has no dollar.',
    dollar_unreadable: 'The rate of the dollar cannot be read: “{value}” for “{nominal}”.',
    dollar_zero: 'The rate of the dollar is 0.',
    list_unreadable: 'The list of rates is no XML.',
    no_list: 'This is no list of rates of the Bank of Russia.',
    none_held: 'No rate waits to be accepted.',
    rate_not_held: 'The rate of {day} does not wait to be accepted: somebody else may have accepted it.',
  },
}

/** Why documents, statements and rates were refused. */
export const refusedTexts = { ru, en }

import type { Content, TDocumentDefinitions } from 'pdfmake/interfaces.js'
import { renderSVG } from 'uqr'
import { shortName } from '../../companies/company-details.ts'
import type { Invoice } from '../document.ts'
import { paymentCode } from '../../companies/seller.ts'
import { facts, heading, linesTable, page, signature, thinLines, totals } from './layout-parts.ts'
import { breakable, companyLine, contractLine, longDay, shortDay } from './printed-text.ts'

/** An invoice in the customary layout: the bank's table at the top, the lines, the payment code. */
export function layoutInvoice(invoice: Invoice, facsimile?: string): TDocumentDefinitions {
  const { number, date, seller, buyer, contract } = invoice
  const title = `Счёт на оплату № ${number} от ${longDay(date)}`
  return page(title, date, [
    {
      text:
        `Оплатите до ${shortDay(invoice.payUntil)}. Оплата счёта означает согласие с условиями оферты. ` +
        'В назначении платежа укажите текст, который стоит ниже.',
      fontSize: 7.5,
      alignment: 'center',
      margin: [40, 0, 40, 8],
    },
    bankTable(invoice),
    heading(title),
    facts([
      ['Поставщик:', companyLine(seller)],
      ['Покупатель:', companyLine(buyer)],
      ['Основание:', breakable(contractLine(contract))],
    ]),
    linesTable(invoice.lines, 'Товары (работы, услуги)'),
    ...totals(invoice),
    paymentPart(invoice),
    signature(seller.signer.position, shortName(seller.signer.name), facsimile),
    ...(seller.accountant === undefined
      ? []
      : [signature('Главный бухгалтер', shortName(seller.accountant))]),
  ])
}

/** The payee as on a payment order. */
function bankTable({ seller }: Invoice): Content {
  const { bank } = seller
  return {
    table: {
      widths: ['*', '*', 50, 150],
      body: [
        [
          { text: breakable(bank.name), colSpan: 2, border: [true, true, true, false] },
          {},
          'БИК',
          { text: bank.bic, border: [true, true, true, false] },
        ],
        [
          { text: 'Банк получателя', colSpan: 2, fontSize: 7, border: [true, false, true, true] },
          {},
          'Сч. №',
          { text: bank.correspondentAccount, border: [true, false, true, true] },
        ],
        [
          `ИНН ${seller.inn}`,
          seller.kpp === undefined ? '' : `КПП ${seller.kpp}`,
          { text: 'Сч. №', rowSpan: 2 },
          { text: bank.account, rowSpan: 2 },
        ],
        [
          {
            stack: [breakable(seller.name), { text: 'Получатель', fontSize: 7, margin: [0, 4, 0, 0] }],
            colSpan: 2,
          },
          {},
          {},
          {},
        ],
      ],
    },
    layout: thinLines,
    margin: [0, 0, 0, 14],
  }
}

function paymentPart({ seller, amount, purpose }: Invoice): Content {
  return {
    unbreakable: true,
    columns: [
      {
        width: 104,
        svg: renderSVG(paymentCode(seller, amount, purpose), { ecc: 'M', border: 1 }),
        fit: [100, 100],
      },
      {
        width: '*',
        stack: [
          { text: 'Назначение платежа', bold: true },
          { text: breakable(purpose), margin: [0, 2, 0, 6] },
          { text: 'Код для оплаты по ГОСТ Р 56042-2014: наведите камеру приложения банка.', fontSize: 7.5 },
        ],
        margin: [8, 6, 0, 0],
      },
    ],
    margin: [0, 12, 0, 6],
  }
}

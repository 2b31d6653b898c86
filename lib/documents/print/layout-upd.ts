import type { Column, Content, TableCell, TDocumentDefinitions } from 'pdfmake/interfaces.js'
import { shortName, type CompanyDetails } from '../../companies/company-details.ts'
import {
  amountInWords,
  center,
  facsimileAt,
  noLines,
  page,
  right,
  taxSentence,
  thinLines,
} from './layout-parts.ts'
import type { ClosingDocument } from '../document.ts'
import {
  breakable,
  contractLine,
  longDay,
  orderNumber,
  printedAmount,
  printedRate,
  shortDay,
} from './printed-text.ts'

const dash = '–'

/**
 * The universal transfer document, in the form that the tax service recommends (letter ММВ-20-3/96@, with the invoice
 * of Government decree 1137): status 1 for payers of the tax, 2 for all others.
 */
export function layoutUpd(upd: ClosingDocument, facsimile?: string): TDocumentDefinitions {
  const { number, date } = upd
  const title = `Универсальный передаточный документ № ${number} от ${longDay(date)}`
  return page(
    title,
    date,
    [head(upd), linesTable(upd), inWords(upd), ...signers(upd, facsimile), transfer(upd)],
    'landscape',
  )
}

function head(upd: ClosingDocument): Content {
  const { number, date, tax, correction } = upd
  return {
    columnGap: 10,
    columns: [
      {
        width: 104,
        stack: [
          { text: 'Универсальный передаточный документ', bold: true, fontSize: 9 },
          { text: `Статус: ${tax.rate === 'none' ? 2 : 1}`, bold: true, fontSize: 9, margin: [0, 8, 0, 6] },
          {
            text: '1 – счёт-фактура и передаточный документ (акт)\n2 – передаточный документ (акт)',
            fontSize: 6,
          },
        ],
      },
      {
        width: '*',
        stack: [
          { text: `Счёт-фактура № ${number} от ${longDay(date)} (1)`, bold: true, fontSize: 9 },
          {
            text:
              correction === undefined
                ? `Исправление № ${dash} от ${dash} (1а)`
                : breakable(
                    `Исправление № ${correction.number} от ${longDay(correction.date)} (1а). Причина: ${correction.reason}`,
                  ),
            margin: [0, 2, 0, 4],
          },
          {
            table: {
              widths: [140, '*', 18],
              body: headRows(upd).map(([name, value, mark]) => [name, breakable(value), mark]),
            },
            layout: { ...noLines, paddingTop: () => 0.5, paddingBottom: () => 0.5, paddingLeft: () => 0 },
          },
        ],
      },
    ],
    margin: [0, 0, 0, 6],
  }
}

function headRows(upd: ClosingDocument): readonly (readonly [name: string, value: string, mark: string])[] {
  const { number, date, seller, buyer, payments } = upd
  const paid = payments.map(one => `№ ${orderNumber(one)} от ${shortDay(one.date)}`).join(', ')
  return [
    ['Продавец:', seller.name, '(2)'],
    ['Адрес:', seller.address, '(2а)'],
    ['ИНН/КПП продавца:', numbers(seller), '(2б)'],
    ['Грузоотправитель и его адрес:', dash, '(3)'],
    ['Грузополучатель и его адрес:', dash, '(4)'],
    ['К платёжно-расчётному документу:', paid === '' ? dash : paid, '(5)'],
    [
      'Документ об отгрузке:',
      `№ п/п 1${upd.lines.length > 1 ? `-${upd.lines.length}` : ''} № ${number} от ${shortDay(date)}`,
      '(5а)',
    ],
    ['Покупатель:', buyer.name, '(6)'],
    ['Адрес:', buyer.address, '(6а)'],
    ['ИНН/КПП покупателя:', numbers(buyer), '(6б)'],
    ['Валюта: наименование, код', 'Российский рубль, 643', '(7)'],
  ]
}

function numbers({ inn, kpp }: ClosingDocument['buyer']): string {
  return kpp === undefined ? inn : `${inn}/${kpp}`
}

const columns: readonly (readonly [name: string, mark: string, width: number | '*'])[] = [
  ['Код товара/ работ, услуг', 'А', 32],
  ['№ п/п', '1', 18],
  ['Наименование товара (описание выполненных работ, оказанных услуг), имущественного права', '1а', '*'],
  ['Код вида товара', '1б', 30],
  ['Ед. изм., код', '2', 24],
  ['условное обозначение', '2а', 38],
  ['Количество (объём)', '3', 34],
  ['Цена (тариф) за единицу', '4', 58],
  ['Стоимость без налога – всего', '5', 58],
  ['В том числе сумма акциза', '6', 36],
  ['Налоговая ставка', '7', 36],
  ['Сумма налога', '8', 58],
  ['Стоимость с налогом – всего', '9', 58],
  ['Страна, код', '10', 26],
  ['краткое наименование', '10а', 42],
  ['Рег. номер декларации', '11', 44],
]

function linesTable({ lines, tax, amount, vat }: ClosingDocument): Content {
  const vatCell = (sum: number): TableCell => right(tax.rate === 'none' ? 'без НДС' : printedAmount(sum))
  return {
    table: {
      headerRows: 2,
      dontBreakRows: true,
      widths: columns.map(([, , width]) => width),
      body: [
        columns.map(([name]) => center(name, { fontSize: 5.5 })),
        columns.map(([, mark]) => center(mark, { fontSize: 5.5 })),
        ...lines.map((line, index): TableCell[] => [
          center(dash),
          center(String(index + 1)),
          breakable(line.name),
          center(dash),
          center('796'),
          center('шт'),
          right('1'),
          right(printedAmount(line.amount - line.vat)),
          right(printedAmount(line.amount - line.vat)),
          center('без акциза', { fontSize: 6 }),
          center(printedRate(tax.rate)),
          vatCell(line.vat),
          right(printedAmount(line.amount)),
          center(dash),
          center(dash),
          center(dash),
        ]),
        [
          { text: 'Всего к оплате (9)', bold: true, colSpan: 8 },
          ...Array.from({ length: 7 }, () => ({})),
          right(printedAmount(amount - vat), { bold: true }),
          { text: 'X', alignment: 'center', colSpan: 2 },
          {},
          vatCell(vat),
          right(printedAmount(amount), { bold: true }),
          { text: '', colSpan: 3 },
          {},
          {},
        ],
      ],
    },
    // Sixteen columns must fit on the page.
    layout: { ...thinLines, paddingLeft: () => 2, paddingRight: () => 2 },
    margin: [0, 0, 0, 6],
  }
}

/** The amount in words: the form does not ask for it but allows additions, and accountants expect it. */
function inWords({ amount, tax, vat }: ClosingDocument): Content {
  return { text: `${amountInWords(amount)}. ${taxSentence(tax, vat)}`, margin: [0, 0, 0, 4] }
}

function signLine(label: string, name: string, image?: string): Content {
  return {
    columns: [
      { width: 120, text: label, margin: [0, 6, 0, 0] },
      {
        width: 90,
        stack: [
          ...facsimileAt(image, 80, 2, -22),
          { canvas: [{ type: 'line', x1: 0, y1: 14, x2: 84, y2: 14, lineWidth: 0.5 }] },
          { text: '(подпись)', fontSize: 5.5, alignment: 'center', margin: [0, 0, 6, 0] },
        ],
      },
      {
        width: '*',
        stack: [
          { text: name === '' ? ' ' : breakable(name), margin: [0, 6, 0, 0] },
          { text: '(ф.и.о.)', fontSize: 5.5 },
        ],
      },
    ],
  }
}

function signers({ seller }: ClosingDocument, facsimile?: string): Content[] {
  const name = shortName(seller.signer.name)
  const lines =
    seller.kind === 'company'
      ? [
          signLine('Руководитель организации или иное уполномоченное лицо', name, facsimile),
          signLine(
            'Главный бухгалтер или иное уполномоченное лицо',
            seller.accountant === undefined ? name : shortName(seller.accountant),
          ),
        ]
      : [
          signLine('Индивидуальный предприниматель или иное уполномоченное лицо', name, facsimile),
          { text: `ОГРНИП ${seller.ogrn}`, margin: [0, 6, 0, 0] as [number, number, number, number] },
        ]
  return [{ unbreakable: true, columns: lines, columnGap: 16, margin: [0, 0, 0, 6] }]
}

/** The lower half: basis and date of the transfer, and the signers of both sides. */
function transfer({ contract, date, seller, buyer }: ClosingDocument): Content {
  return {
    unbreakable: true,
    stack: [
      {
        text: breakable(`Основание передачи (сдачи) / получения (приёмки): ${contractLine(contract)} [8]`),
        margin: [0, 0, 0, 2],
      },
      { text: `Данные о транспортировке и грузе: ${dash} [9]`, margin: [0, 0, 0, 6] },
      {
        columnGap: 20,
        columns: [
          side(seller, {
            did: 'Товар (груз) передал / услуги, результаты работ, права сдал [10]',
            day: `Дата отгрузки, передачи (сдачи): ${longDay(date)} [11]`,
            mark: '[14]',
          }),
          side(buyer, {
            did: 'Товар (груз) получил / услуги, результаты работ, права принял [15]',
            day: 'Дата получения (приёмки): «___» ______________ 20___ г. [16]',
            mark: '[19]',
          }),
        ],
      },
    ],
  }
}

/** One side's part to sign. */
function side(
  party: CompanyDetails,
  { did, day, mark }: Readonly<Record<'did' | 'day' | 'mark', string>>,
): Column {
  const { signer } = party
  return {
    width: '*',
    stack: [
      { text: did, bold: true },
      signLine(
        breakable(signer?.position ?? '(должность)'),
        signer === undefined ? '' : shortName(signer.name),
      ),
      { text: day, margin: [0, 3, 0, 3] },
      { text: breakable(`Составитель: ${party.name}, ИНН/КПП ${numbers(party)} ${mark}`) },
      { text: 'М. П.', margin: [0, 3, 0, 0] },
    ],
  }
}

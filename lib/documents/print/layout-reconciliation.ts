import type { Content, ContentStack, TDocumentDefinitions, Style, TableCell } from 'pdfmake/interfaces.js'
import { shortName, type CompanyDetails } from '../../companies/company-details.ts'
import type { ClosingDocument, ReconciliationStatement } from '../document.ts'
import {
  facsimileAt,
  facts,
  heading,
  linesTable,
  page,
  totals,
  amountInWords,
  center,
  right,
  thinLines,
} from './layout-parts.ts'
import { breakable, companyLine, contractLine, longDay, shortDay, printedAmount } from './printed-text.ts'
import type { Kopecks } from '../../money/kopecks.ts'

/** An act of services rendered, for both sides to sign. */
export function layoutAct(act: ClosingDocument, facsimile?: string): TDocumentDefinitions {
  const { number, date, seller, buyer, contract, correction } = act
  const title = `Акт № ${number} от ${longDay(date)}`
  return page(title, date, [
    heading(title),
    ...(correction === undefined ? [] : [correctionNote(correction)]),
    facts([
      ['Исполнитель:', companyLine(seller)],
      ['Заказчик:', companyLine(buyer)],
      ['Основание:', breakable(contractLine(contract))],
    ]),
    linesTable(act.lines, 'Наименование работ, услуг'),
    ...totals(act),
    {
      text:
        'Вышеперечисленные услуги выполнены полностью и в срок. Заказчик претензий по объёму, качеству и срокам ' +
        'оказания услуг не имеет.',
      margin: [0, 10, 0, 12],
    },
    bothSides(seller, buyer, facsimile),
  ])
}

/** The note that a document replaces another, and why. */
function correctionNote(correction: NonNullable<ClosingDocument['correction']>): Content {
  const { number, date, reason } = correction
  return {
    text: breakable(`Исправление № ${number} от ${longDay(date)} Причина: ${reason}`),
    margin: [0, 0, 0, 8],
  }
}

/** Both sides, each with a line to sign on. */
function bothSides(seller: CompanyDetails, buyer: CompanyDetails, facsimile?: string): Content {
  return {
    unbreakable: true,
    columnGap: 24,
    columns: [side('Исполнитель', seller, facsimile), side('Заказчик', buyer)],
  }
}

function side(role: string, party: CompanyDetails, image?: string): ContentStack {
  const { signer } = party
  return {
    stack: [
      { text: role, bold: true, fontSize: 10 },
      { text: breakable(party.name), margin: [0, 2, 0, 2] },
      { text: breakable(signer?.position ?? ''), margin: [0, 0, 0, 18] },
      ...facsimileAt(image, 120, 10, -40),
      { canvas: [{ type: 'line', x1: 0, y1: 0, x2: 236, y2: 0, lineWidth: 0.5 }] },
      {
        margin: [0, 2, 0, 0],
        columns: [
          { text: 'подпись', fontSize: 6, alignment: 'center' },
          {
            text: signer === undefined ? 'расшифровка подписи' : breakable(shortName(signer.name)),
            fontSize: signer === undefined ? 6 : 9,
            alignment: 'center',
          },
        ],
      },
      { text: 'М. П.', fontSize: 7, margin: [0, 4, 0, 0] },
    ],
  }
}

/** Empty for a zero amount. */
function sum(amount: Kopecks, style: Style = {}): TableCell {
  return right(amount === 0 ? '' : printedAmount(amount), style)
}

const headNameLengthMax = 80

/** The buyer's debt (debit) or prepayment (credit). */
function sides(amount: Kopecks): [Kopecks, Kopecks] {
  return [Math.max(amount, 0), Math.max(-amount, 0)]
}

/** The reconciliation statement, with columns for the buyer's own books beside the seller's. */
export function layoutReconciliation(
  statement: ReconciliationStatement,
  facsimile?: string,
): TDocumentDefinitions {
  const { date, from, to, seller, buyer, contract, opening, rows } = statement
  const title = `Акт сверки взаимных расчётов за ${shortDay(from)} – ${shortDay(to)}`
  const closing = rows.reduce((total, row) => total + row.debit - row.credit, opening)
  return page(title, date, [
    heading(title),
    {
      text: [
        `между ${companyLine(seller)} и ${companyLine(buyer)} по документу: `,
        breakable(contractLine(contract)),
        '. Мы, нижеподписавшиеся, составили настоящий акт о том, что состояние взаимных расчётов по данным учёта следующее:',
      ],
      margin: [0, 0, 0, 8],
    },
    movementsTable(statement, closing),
    { text: conclusion(statement, closing), margin: [0, 10, 0, 14] },
    bothSides(seller, buyer, facsimile),
  ])
}

function movementsTable(
  { from, to, seller, buyer, opening, rows }: ReconciliationStatement,
  closing: Kopecks,
): Content {
  const debit = rows.reduce((total, row) => total + row.debit, 0)
  const credit = rows.reduce((total, row) => total + row.credit, 0)
  const blank = ['', '', '', '']
  const bold = (name: string, [left, right]: readonly [Kopecks, Kopecks]): TableCell[] => [
    { text: name, bold: true, colSpan: 2 },
    '',
    sum(left, { bold: true }),
    sum(right, { bold: true }),
    ...blank,
  ]
  return {
    table: {
      headerRows: 2,
      dontBreakRows: true,
      widths: [46, '*', 58, 58, 40, 50, 50, 50],
      body: [
        [
          { ...cellOf(`По данным ${abbreviated(seller.name)}, руб.`), colSpan: 4 },
          {},
          {},
          {},
          { ...cellOf(`По данным ${abbreviated(buyer.name)}, руб.`), colSpan: 4 },
          {},
          {},
          {},
        ],
        ['Дата', 'Документ', 'Дебет', 'Кредит', 'Дата', 'Документ', 'Дебет', 'Кредит'].map(text =>
          center(text, { bold: true }),
        ),
        bold(`Сальдо на ${shortDay(from)}`, sides(opening)),
        ...rows.map(row => [
          shortDay(row.date),
          breakable(row.name),
          sum(row.debit),
          sum(row.credit),
          ...blank,
        ]),
        bold('Обороты за период', [debit, credit]),
        bold(`Сальдо на ${shortDay(to)}`, sides(closing)),
      ],
    },
    layout: thinLines,
    fontSize: 8,
  }
}

/** The heading repeats on each page; the full name is above the table. */
function abbreviated(name: string): string {
  const characters = Array.from(name)
  return characters.length <= headNameLengthMax
    ? name
    : `${characters.slice(0, headNameLengthMax).join('').trimEnd()}…`
}

function cellOf(text: string): { text: string; bold: true; alignment: 'center' } {
  return { text: breakable(text), bold: true, alignment: 'center' }
}

function conclusion({ to, seller, buyer }: ReconciliationStatement, closing: Kopecks): string {
  if (closing === 0) return `На ${longDay(to)} задолженность отсутствует.`
  const creditor = closing > 0 ? seller : buyer
  const size = Math.abs(closing)
  return breakable(
    `На ${longDay(to)} задолженность в пользу ${creditor.name} составляет ${printedAmount(size)} руб. ` +
      `(${amountInWords(size)}).`,
  )
}

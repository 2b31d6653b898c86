import numberToWords from 'number-to-words-ru'
import type {
  Content,
  CustomTableLayout,
  Style,
  TableCell,
  TDocumentDefinitions,
} from 'pdfmake/interfaces.js'
import { formatKopecks, type Kopecks } from '../../money/kopecks.ts'
import type { TaxPeriod } from '../../companies/seller.ts'
import type { DocumentLine } from '../document.ts'
import { breakable, printedAmount } from './printed-text.ts'

/** «Двенадцать тысяч триста сорок пять рублей 01 копейка». */
export function amountInWords(amount: Kopecks): string {
  return numberToWords.convert(formatKopecks(amount), {
    currency: 'rub',
    convertNumberToWords: { integer: true, fractional: false },
  })
}

const thin = 0.5

/** A table with thin lines everywhere. */
export const thinLines: CustomTableLayout = {
  hLineWidth: () => thin,
  vLineWidth: () => thin,
  paddingTop: () => 1.5,
  paddingBottom: () => 1.5,
  paddingLeft: () => 3,
  paddingRight: () => 3,
}

/** A table without lines. */
export const noLines: CustomTableLayout = { hLineWidth: () => 0, vLineWidth: () => 0 }

/** An A4 page with its title in the metadata, and page numbers where there are several pages. */
export function page(
  title: string,
  date: string,
  content: readonly Content[],
  orientation: 'portrait' | 'landscape' = 'portrait',
): TDocumentDefinitions {
  return {
    pageSize: 'A4',
    pageOrientation: orientation,
    pageMargins: orientation === 'portrait' ? [40, 36, 36, 40] : [28, 28, 28, 34],
    // The day of the document rather than of printing, so that the same document is the same file.
    info: { title, creationDate: new Date(`${date}T00:00:00Z`), modDate: new Date(`${date}T00:00:00Z`) },
    defaultStyle: { font: 'Roboto', fontSize: orientation === 'portrait' ? 9 : 7, lineHeight: 1.1 },
    footer: (current, count) =>
      count === 1
        ? ''
        : {
            text: `${title}, лист ${current} из ${count}`,
            alignment: 'right',
            fontSize: 7,
            margin: [36, 12, 36, 0],
          },
    content: [...content],
  }
}

/** A heading with a line below it. */
export function heading(text: string): Content {
  return {
    table: {
      widths: ['*'],
      body: [[{ text: breakable(text), bold: true, fontSize: 13, border: [false, false, false, true] }]],
    },
    layout: { hLineWidth: () => 1.2, vLineWidth: () => 0, paddingLeft: () => 0, paddingBottom: () => 4 },
    margin: [0, 0, 0, 8],
  }
}

/** Names and values side by side: «Поставщик:», «ООО ...». */
export function facts(rows: readonly (readonly [name: string, value: string])[]): Content {
  return {
    table: { widths: [70, '*'], body: rows.map(([name, value]) => [name, { text: value, bold: true }]) },
    layout: { ...noLines, paddingLeft: () => 0, paddingTop: () => 2, paddingBottom: () => 2 },
    margin: [0, 0, 0, 8],
  }
}

/** A right-aligned cell, for amounts and other text. */
export function right(text: string, style: Style = {}): TableCell {
  return { text, alignment: 'right', ...style }
}

export function center(text: string, style: Style = {}): TableCell {
  return { text, alignment: 'center', ...style }
}

/** The lines of a document as a table. */
export function linesTable(lines: readonly DocumentLine[], nameOfColumn: string): Content {
  return {
    table: {
      headerRows: 1,
      dontBreakRows: true,
      widths: [20, '*', 36, 26, 70, 70],
      body: [
        ['№', nameOfColumn, 'Кол-во', 'Ед.', 'Цена', 'Сумма'].map(text => center(text, { bold: true })),
        ...lines.map((line, index) => [
          center(String(index + 1)),
          breakable(line.name),
          right('1'),
          'шт',
          right(printedAmount(line.amount)),
          right(printedAmount(line.amount)),
        ]),
      ],
    },
    layout: thinLines,
  }
}

/** The totals below the lines of a document: amount, tax, and the amount in words. */
export function totals(sale: {
  readonly amount: Kopecks
  readonly vat: Kopecks
  readonly tax: TaxPeriod
  readonly lines: readonly unknown[]
}): Content[] {
  const { amount, vat, tax } = sale
  const rows: readonly (readonly [string, string])[] = [
    ['Итого:', printedAmount(amount)],
    tax.rate === 'none' ? ['Без налога (НДС)', '–'] : [`В том числе НДС ${tax.rate}%:`, printedAmount(vat)],
    ['Всего к оплате:', printedAmount(amount)],
  ]
  return [
    {
      unbreakable: true,
      stack: [
        {
          table: { widths: ['*', 90], body: rows.map(row => row.map(text => right(text, { bold: true }))) },
          layout: { ...noLines, paddingTop: () => 1, paddingBottom: () => 1 },
          margin: [0, 4, 0, 6],
        },
        `Всего наименований ${sale.lines.length}, на сумму ${printedAmount(amount)} руб.`,
        { text: amountInWords(amount), bold: true, margin: [0, 1, 0, 2] },
        taxSentence(tax, vat),
      ],
    },
  ]
}

/** «НДС не облагается (п. 2 ст. 346.11 НК РФ)» or «В том числе НДС 22% — 2 226,15 руб.» */
export function taxSentence(tax: TaxPeriod, vat: Kopecks): string {
  if (tax.rate !== 'none') return `В том числе НДС ${tax.rate}% — ${printedAmount(vat)} руб.`
  return `НДС не облагается${tax.basis === undefined ? '' : ` (${tax.basis})`}`
}

/**
 * Signature and stamp, at most half as high as wide. The image is drawn over the line and shifts no other content.
 */
export function facsimileAt(image: string | undefined, width: number, x: number, y: number): Content[] {
  return image === undefined ? [] : [{ image, fit: [width, width / 2], relativePosition: { x, y } }]
}

/** A line to sign on, with the text below it. */
export function signature(position: string, name: string, image?: string): Content {
  return {
    unbreakable: true,
    columns: [
      { width: 150, text: breakable(position), bold: true, margin: [0, 12, 0, 0] },
      {
        width: 130,
        stack: [
          ...facsimileAt(image, 120, 4, -34),
          { canvas: [{ type: 'line', x1: 0, y1: 22, x2: 120, y2: 22, lineWidth: thin }] },
          { text: 'подпись', fontSize: 6, alignment: 'center', margin: [0, 1, 10, 0] },
        ],
      },
      { width: '*', text: breakable(name), margin: [0, 12, 0, 0] },
    ],
    margin: [0, 8, 0, 0],
  }
}

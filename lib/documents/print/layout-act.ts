import type { Content, ContentStack, TDocumentDefinitions } from 'pdfmake/interfaces.js'
import { shortName } from '../../companies/person-name.ts'
import type { CompanyDetails } from '../../companies/company-details.ts'
import type { ClosingDocument } from '../document.ts'
import { facts, heading, linesTable, page, totals } from './layout-parts.ts'
import { breakable, companyLine, longDay, shortDay } from './printed-text.ts'

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
      ['Основание:', breakable(`${contract.name} № ${contract.number} от ${shortDay(contract.date)}`)],
    ]),
    linesTable(act.lines, 'Наименование работ, услуг'),
    ...totals(act),
    {
      text:
        'Вышеперечисленные услуги выполнены полностью и в срок. Заказчик претензий по объёму, качеству и срокам ' +
        'оказания услуг не имеет.',
      margin: [0, 10, 0, 12],
    },
    bothSides('Исполнитель', seller, 'Заказчик', buyer, facsimile),
  ])
}

/** That a document takes another's place, and why. */
function correctionNote(correction: NonNullable<ClosingDocument['correction']>): Content {
  const { number, date, reason } = correction
  return {
    text: breakable(`Исправление № ${number} от ${longDay(date)} Причина: ${reason}`),
    margin: [0, 0, 0, 8],
  }
}

/** Both sides, each with a line to sign on. */
export function bothSides(
  left: string,
  seller: CompanyDetails,
  rightSide: string,
  buyer: CompanyDetails,
  facsimile?: string,
): Content {
  return {
    unbreakable: true,
    columnGap: 24,
    columns: [side(left, seller, facsimile), side(rightSide, buyer)],
  }
}

function side(role: string, party: CompanyDetails, image?: string): ContentStack {
  const { signer } = party
  return {
    stack: [
      { text: role, bold: true, fontSize: 10 },
      { text: breakable(party.name), margin: [0, 2, 0, 2] },
      { text: breakable(signer?.position ?? ''), margin: [0, 0, 0, 18] },
      ...(image === undefined
        ? []
        : [{ image, fit: [120, 60] as [number, number], relativePosition: { x: 10, y: -40 } }]),
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

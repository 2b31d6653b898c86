import { createHash } from 'node:crypto'
import { parsePersonName, type BankDetails, type CompanyDetails } from '../companies/company-details.ts'
import { formatKopecks } from '../money/kopecks.ts'
import type { Kopecks } from '../money/kopecks.ts'
import type { ClosingDocument } from './document.ts'
import { orderNumber } from './print/printed-text.ts'

/** A file for an operator of electronic documents, which signs exactly these bytes. */
export interface UpdFile {
  readonly name: string
  readonly bytes: Buffer
}

const title = 'Универсальный передаточный документ'

/** An element: its name, its ordered attributes, and its content. An undefined attribute is omitted. */
interface XmlElement {
  readonly name: string
  readonly attributes?: Readonly<Record<string, string | undefined>>
  readonly content?: readonly (XmlElement | undefined)[] | string
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}

const decoder = new TextDecoder('windows-1251')
const bytes = new Map(Array.from({ length: 256 }, (_, byte) => [decoder.decode(Uint8Array.of(byte)), byte]))

function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, character => escapes[character] ?? '')
}

/** Serializes an element without optional white space: signatures cover these exact bytes. */
function writeXml({ name, attributes = {}, content = [] }: XmlElement): string {
  const written = Object.entries(attributes)
    .map(([key, value]) => (value === undefined ? '' : ` ${key}="${escaped(value)}"`))
    .join('')
  const inner =
    typeof content === 'string'
      ? escaped(content)
      : content.map(child => (child === undefined ? '' : writeXml(child))).join('')
  return inner === '' ? `<${name}${written}/>` : `<${name}${written}>${inner}</${name}>`
}

const noTax: XmlElement = { name: 'БезНДС', content: 'без НДС' }

/**
 * The seller's file of a universal transfer document, format 5.03 (order ЕД-7-26/970@): with the invoice (`СЧФДОП`)
 * where tax is owed, else the transfer alone (`ДОП`). The same document is always the same bytes.
 */
export function writeUpd(document: ClosingDocument): UpdFile {
  const id = fileId(document)
  const { seller, tax, date, correction } = document
  const issued = correction?.date ?? date
  const root: XmlElement = {
    name: 'Файл',
    attributes: { ИдФайл: id, ВерсФорм: '5.03', ВерсПрог: 'gateway 1.0' },
    content: [
      {
        name: 'Документ',
        attributes: {
          КНД: '1115131',
          Функция: tax.rate === 'none' ? 'ДОП' : 'СЧФДОП',
          ПоФактХЖ:
            'Документ об отгрузке товаров (выполнении работ), передаче имущественных прав (документ об оказании услуг)',
          НаимДокОпр: title,
          ДатаИнфПр: bankDay(issued),
          ВремИнфПр: '00.00.00',
          НаимЭконСубСост: `${shortened(seller.name, 900)}, ИНН ${seller.inn}`,
        },
        content: [invoicePart(document), linesPart(document), transferPart(document), signerPart(document)],
      },
    ],
  }
  return {
    name: `${id}.xml`,
    bytes: encodeXml(`<?xml version="1.0" encoding="windows-1251"?>${writeXml(root)}`),
  }
}

/**
 * Recipient first. A company without an id at an operator is named by its INN and KPP, for the operator to replace.
 */
function fileId(document: ClosingDocument): string {
  const { seller, buyer, number, date, correction } = document
  const identity = JSON.stringify([seller.inn, buyer.inn, number, date, correction?.number ?? 0])
  const hex = createHash('sha256').update(identity).digest('hex')
  const guid = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `5${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ]
  const day = (correction?.date ?? date).replaceAll('-', '')
  return `ON_NSCHFDOPPR_${ediId(buyer)}_${ediId(seller)}_${day}_${guid.join('-')}_0_0_0_0_0_00`
}

function ediId({ ediId, inn, kpp }: CompanyDetails): string {
  return ediId ?? [inn, ...(kpp === undefined ? [] : [kpp])].join('-')
}

function shortened(text: string, max: number): string {
  return Array.from(text).slice(0, max).join('')
}

function bankDay(iso: string): string {
  return iso.split('-').toReversed().join('.')
}

function invoicePart(document: ClosingDocument): XmlElement {
  const { number, date, seller, buyer, payments, correction } = document
  return {
    name: 'СвСчФакт',
    attributes: { НомерДок: number, ДатаДок: bankDay(date) },
    content: [
      correction && {
        name: 'ИспрДок',
        attributes: { НомИспр: String(correction.number), ДатаИспр: bankDay(correction.date) },
      },
      party('СвПрод', seller),
      ...payments.map(payment => ({
        name: 'СвПРД',
        attributes: {
          НомерПРД: shortened(orderNumber(payment), 30),
          ДатаПРД: bankDay(payment.date),
          СуммаПРД: formatKopecks(payment.amount),
        },
      })),
      {
        name: 'ДокПодтвОтгрНом',
        attributes: { РеквНаимДок: title, РеквНомерДок: number, РеквДатаДок: bankDay(date) },
      },
      party('СвПокуп', buyer),
      { name: 'ДенИзм', attributes: { КодОКВ: '643', НаимОКВ: 'Российский рубль' } },
      correction && {
        name: 'ИнфПолФХЖ1',
        content: [
          { name: 'ТекстИнф', attributes: { Идентиф: 'Причина исправления', Значен: correction.reason } },
        ],
      },
    ],
  }
}

function party(name: string, details: CompanyDetails): XmlElement {
  return {
    name,
    content: [
      { name: 'ИдСв', content: [identity(details)] },
      {
        name: 'Адрес',
        content: [
          { name: 'АдрИнф', attributes: { КодСтр: '643', НаимСтран: 'Россия', АдрТекст: details.address } },
        ],
      },
      details.bank && bank(details.bank),
    ],
  }
}

function identity({ kind, name, inn, kpp, ogrn }: CompanyDetails): XmlElement {
  if (kind === 'company') return { name: 'СвЮЛУч', attributes: { НаимОрг: name, ИННЮЛ: inn, КПП: kpp } }
  return { name: 'СвИП', attributes: { ИННФЛ: inn, ОГРНИП: ogrn }, content: [person(name)] }
}

function bank({ name, bic, account, correspondentAccount }: BankDetails): XmlElement {
  return {
    name: 'БанкРекв',
    attributes: { НомерСчета: account },
    content: [{ name: 'СвБанк', attributes: { НаимБанк: name, БИК: bic, КорСчет: correspondentAccount } }],
  }
}

function person(text: string): XmlElement {
  const name = parsePersonName(text)
  // Details are validated on input; an unvalidated one must not become an empty name.
  if (name === undefined) throw new RangeError(`"${text}" is no name of a person`)
  return { name: 'ФИО', attributes: { Фамилия: name.surname, Имя: name.name, Отчество: name.patronymic } }
}

function linesPart({ lines, tax, amount, vat }: ClosingDocument): XmlElement {
  const hasTax = tax.rate !== 'none'
  const rate = hasTax ? `${tax.rate}%` : 'без НДС'
  const taxOf = (sum: Kopecks): XmlElement =>
    hasTax ? { name: 'СумНал', content: formatKopecks(sum) } : noTax
  return {
    name: 'ТаблСчФакт',
    content: [
      ...lines.map((line, index) => {
        const net = formatKopecks(line.amount - line.vat)
        return {
          name: 'СведТов',
          attributes: {
            НомСтр: String(index + 1),
            НаимТов: shortened(line.name, 2000),
            ОКЕИ_Тов: '796',
            НаимЕдИзм: 'шт',
            КолТов: '1',
            ЦенаТов: net,
            СтТовБезНДС: net,
            НалСт: rate,
            СтТовУчНал: formatKopecks(line.amount),
          },
          content: [
            { name: 'ДопСведТов', attributes: { ПрТовРаб: '3' } },
            { name: 'Акциз', content: [{ name: 'БезАкциз', content: 'без акциза' }] },
            { name: 'СумНал', content: [taxOf(line.vat)] },
          ],
        }
      }),
      {
        name: 'ВсегоОпл',
        attributes: {
          СтТовБезНДСВсего: formatKopecks(amount - vat),
          СтТовУчНалВсего: formatKopecks(amount),
        },
        content: [{ name: 'СумНалВсего', content: [taxOf(vat)] }],
      },
    ],
  }
}

function transferPart({ date, from, to, contract }: ClosingDocument): XmlElement {
  return {
    name: 'СвПродПер',
    content: [
      {
        name: 'СвПер',
        attributes: {
          СодОпер: 'Услуги оказаны в полном объеме',
          ВидОпер: 'Оказание услуг',
          ДатаПер: bankDay(date),
          ДатаНачПер: bankDay(from),
          ДатаОконПер: bankDay(to),
        },
        content: [
          {
            name: 'ОснПер',
            attributes: {
              РеквНаимДок: contract.name,
              РеквНомерДок: contract.number,
              РеквДатаДок: bankDay(contract.date),
            },
          },
        ],
      },
    ],
  }
}

function signerPart({ seller }: ClosingDocument): XmlElement {
  return {
    name: 'Подписант',
    attributes: { Должн: seller.signer.position, ТипПодпис: '1', СпосПодтПолном: '1' },
    content: [person(seller.signer.name)],
  }
}

/** XML in windows-1251; other characters become references such as `&#8381;`. */
export function encodeXml(text: string): Buffer {
  return Buffer.concat(
    Array.from(text, character => {
      const byte = bytes.get(character)
      return byte === undefined ? Buffer.from(`&#${character.codePointAt(0)};`) : Buffer.of(byte)
    }),
  )
}

import fc from 'fast-check'
import t from 'tap'
import type { TaxRate } from '../../../lib/companies/seller.ts'
import { writeUpd } from '../../../lib/documents/upd-xml.ts'
import { updProblems } from '../../fixtures/check-upd.ts'
import { seller, soleProprietor } from '../../fixtures/companies.ts'
import { closingOf } from '../../fixtures/documents.ts'

const text = (document: Parameters<typeof writeUpd>[0]): string =>
  new TextDecoder('windows-1251').decode(writeUpd(document).bytes)

function at(rate: TaxRate) {
  return rate === 'none' ? closingOf() : closingOf([1_234_500], { from: '2026-01-01', rate })
}

await t.test('both kinds of the document are valid by the schema, at every tax rate', async t => {
  const files = ([5, 7, 22, 'none'] as const).map(rate => writeUpd(at(rate)))

  t.same(await updProblems(files), [])
  t.match(text(at('none')), /Функция="ДОП".*НалСт="без НДС".*<СумНал><БезНДС>без НДС<\/БезНДС><\/СумНал>/)
  t.match(
    text(at(22)),
    /Функция="СЧФДОП".*СтТовБезНДС="10118.85" НалСт="22%" СтТовУчНал="12345.00".*<СумНал>2226.15<\/СумНал>/,
  )
})

await t.test('sole proprietors, corrections, many lines and absent ids are valid', async t => {
  const base = at(22)
  const { ediId, ...buyer } = base.buyer
  t.ok(ediId)
  const documents = [
    { ...base, buyer: soleProprietor },
    {
      ...base,
      seller: { ...seller, ...soleProprietor, bank: seller.bank, signer: seller.signer, kpp: undefined },
    },
    { ...base, buyer },
    { ...base, correction: { number: 1, date: '2026-12-05', reason: 'Уточнён адрес "покупателя" & <КПП>' } },
    closingOf(Array.from({ length: 60 }, (_, index) => 1000 + index)),
    { ...base, payments: [] },
    { ...base, buyer: { ...buyer, name: `ООО «${'Я'.repeat(994)}»`, address: 'д'.repeat(1000) } },
  ]

  t.same(await updProblems(documents.map(one => writeUpd(one as typeof base))), [])
})

await t.test('the schema rejects an invalid INN', async t => {
  const invalid = { ...at(22), buyer: { ...at(22).buyer, inn: '0000000000' } }

  t.match(await updProblems([writeUpd(invalid)]), [/ИННЮЛ|0000000000/])
})

await t.test('the same document gives the same file, and its correction another name', async t => {
  const document = at('none')
  const correction = { number: 1, date: '2026-12-05', reason: 'Адрес' }

  t.same(writeUpd(document), writeUpd(document))
  t.not(writeUpd({ ...document, correction }).name, writeUpd(document).name)
  t.match(
    writeUpd(document).name,
    /^ON_NSCHFDOPPR_2BM-7736207543-770401001-20260202_2BM-7707083893-773601001-20260101_20261130_[0-9a-f-]{36}_0_0_0_0_0_00\.xml$/,
  )
})

await t.test('any name is readable in the file, in windows-1251', async t => {
  const name = fc.string({
    unit: fc.constantFrom('О', '"', '&', '<', '>', "'", '«', '№', '₽', 'ė', 'ў', ' '),
    minLength: 1,
    maxLength: 40,
  })

  fc.assert(
    fc.property(name, name => {
      const written = text({ ...closingOf(), buyer: { ...closingOf().buyer, name } })
      const [, found = ''] = /<СвПокуп>.*?НаимОрг="([^"]*)"/.exec(written) ?? []
      const read = found
        .replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)))
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>')
        .replaceAll('&quot;', '"')
        .replaceAll('&amp;', '&')
      return read === name
    }),
  )
  t.pass()
})

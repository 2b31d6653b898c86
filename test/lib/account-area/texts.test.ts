import t from 'tap'
import { textsOf } from '../../../lib/account-area/texts/texts.ts'
import { dialects } from '../../../lib/routes/find-route.ts'
import { chooseLanguage } from '../../../lib/web/texts/language.ts'

await t.test('the language is from the settings, else the cookie, else the browser, else Russian', t => {
  t.equal(chooseLanguage('en', 'ru', 'ru'), 'en')
  t.equal(chooseLanguage(undefined, 'en', 'ru'), 'en')
  t.equal(chooseLanguage(undefined, undefined, 'de, en-GB;q=0.8, ru;q=0.5'), 'en')
  t.equal(chooseLanguage(undefined, undefined, 'ru;q=0, en'), 'en')
  t.equal(chooseLanguage(undefined, 'xx', undefined), 'ru')
  t.equal(chooseLanguage('constructor', '__proto__', 'toString, *'), 'ru')
  t.end()
})

await t.test('no text of either language is empty', t => {
  const walk = (value: unknown, path: string): void => {
    if (typeof value === 'string') t.not(value.trim(), '', path)
    else if (typeof value === 'object' && value !== null)
      for (const [key, item] of Object.entries(value)) walk(item, `${path}.${key}`)
  }
  walk(textsOf('ru'), 'ru')
  walk(textsOf('en'), 'en')
  t.end()
})

await t.test('every operation that is charged has a name for customers', t => {
  const operations = Object.values(dialects).flatMap(({ routes, generic }) => [
    generic,
    ...routes.map(({ operation }) => operation),
  ])
  const charged = operations.filter(({ isFree, unsupported }) => !isFree && unsupported === undefined)

  t.ok(charged.length > 30)
  t.same(
    new Set(charged.map(({ name }) => name).filter(name => !(name in textsOf('ru').charge.operationNames))),
    new Set(),
  )
  t.end()
})

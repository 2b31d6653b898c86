import { html } from 'hono/html'
import type { PageResponse, Html, Page } from '../page.ts'
import { layout } from '../../web/view/layout.ts'
import { readFile } from 'node:fs/promises'
import type { Consent } from '../../accounts/user-rows.ts'
import type { AccountAreaConfig } from '../../config/config.ts'
import type { Language } from '../../web/texts/language.ts'

/** A version of a text that customers accept. */
interface LegalText {
  readonly version: string
  readonly text: Readonly<Record<Language, string>>
}

/** The texts that customers accept, by the kind of consent. */
export type LegalTexts = Readonly<Record<Consent['kind'], LegalText>>

/**
 * The texts until the operator provides some. They call themselves drafts, and are short enough to be recognized as
 * such.
 */
const drafts = {
  offer: {
    version: '2026-11-draft',
    ru: `# Договор-оферта (черновик)

Этот текст — черновик, который поставляется с программой. Владелец сервиса обязан заменить его своей офертой до приёма первых платежей.

Сервис принимает запросы по ключу, передаёт их поставщикам моделей ИИ и возвращает их ответы без изменений. Ответы создают поставщики; их содержание сервис не проверяет.

Услуги оплачиваются заранее. Баланс ведётся в рублях; за каждый запрос списывается стоимость по ценам, опубликованным в личном кабинете. Все списания видны в личном кабинете.

Запросы передаются поставщикам за пределами России. Не отправляйте в них персональные данные других людей без их согласия.

Доступ можно прекратить в любой момент. Неизрасходованный остаток возвращается по заявлению.`,
    en: `# Offer (draft)

This text is a draft that comes with the program. The operator of the service must replace it with an offer of their own before the first payment is taken.

The service takes requests by a key, passes them on to providers of AI models and returns their answers unchanged. The answers are made by the providers; the service does not check what they say.

The service is paid in advance. The balance is kept in roubles; each request is charged at the prices published in the account area. All charges are visible there.

Requests are sent to providers outside Russia. Do not send personal data of others in them without their consent.

You may stop at any time. What is left of the balance is returned on application.`,
  },
  personalData: {
    version: '2026-11-22-draft',
    ru: `# Согласие на обработку персональных данных (черновик)

Этот текст — черновик, который поставляется с программой. Владелец сервиса обязан заменить его согласием по статье 9 Федерального закона № 152-ФЗ: назвать себя, свой адрес и срок.

Даю согласие на обработку моих данных: адрес электронной почты, имя, если я его укажу, IP-адрес, сведения о браузере и время входа.

Цели: создать учётную запись, дать доступ к сервису, рассчитаться за него, защитить учётную запись и ответить на обращения.

Действия: сбор, запись, хранение, уточнение, использование, блокирование, удаление, с использованием средств автоматизации. Данные хранятся в базе владельца сервиса.

Согласие действует до его отзыва. Отозвать его можно письмом владельцу сервиса; после отзыва учётная запись закрывается. Если адрес почты не подтверждён за неделю, данные удаляются.`,
    en: `# Consent to the processing of personal data (draft)

This text is a draft that comes with the program. The operator of the service must replace it with a consent under article 9 of Federal Law 152-FZ: naming themselves, their address and the term.

I consent to the processing of my data: e-mail address, name if I give one, IP address, what the browser says of itself, and times of signing in.

Purposes: to make an account, to give access to the service, to settle accounts for it, to protect the account and to answer enquiries.

Actions: collection, recording, storage, correction, use, blocking and deletion, by automated means. The data are kept in the database of the operator.

The consent holds until it is withdrawn, which can be done by a letter to the operator; the account is closed then. If the e-mail address is not confirmed within a week, the data are deleted.`,
  },
}

async function read(
  document: AccountAreaConfig['documents']['offer'],
  draft: { readonly version: string } & Readonly<Record<Language, string>>,
): Promise<LegalText> {
  if (document === undefined) return { version: draft.version, text: draft }
  const [ru, en] = await Promise.all([readFile(document.ru, 'utf8'), readFile(document.en, 'utf8')])
  return { version: document.version, text: { ru, en } }
}

/** Reads the operator's texts; where there are none, the drafts. */
export async function readLegalTexts({ documents }: AccountAreaConfig): Promise<LegalTexts> {
  return {
    offer: await read(documents.offer, drafts.offer),
    'personal-data': await read(documents.personalData, drafts.personalData),
  }
}

/** Blank lines separate paragraphs, `# ` begins a heading; everything else is text. */
function paragraphs(text: string): readonly Html[] {
  return text
    .split(/\r?\n\s*\r?\n/)
    .map(block => block.trim())
    .filter(block => block !== '')
    .map(block => (block.startsWith('# ') ? html`<h1>${block.slice(2)}</h1>` : html`<p>${block}</p>`))
}

function show(page: Page, title: string, legal: LegalText): PageResponse | Promise<PageResponse> {
  return layout(
    page,
    { title },
    html`<article class="card prose">
      ${paragraphs(legal.text[page.language])}
      <p class="quiet small">${page.texts.signUp.version(legal.version)}</p>
    </article>`,
  )
}

export function showOffer(page: Page): PageResponse | Promise<PageResponse> {
  return show(page, page.texts.shell.offer, page.site.legal.offer)
}

/** The consent to the processing of personal data. */
export function showPersonalData(page: Page): PageResponse | Promise<PageResponse> {
  return show(page, page.texts.shell.personalData, page.site.legal['personal-data'])
}

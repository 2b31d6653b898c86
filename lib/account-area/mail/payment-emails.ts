import type { Notice, Owner } from '../../administration/notices.ts'
import type { Reports } from '../../ledger/reports.ts'
import type { AutoTopUp, AutoTopUpRows } from '../../payments/auto-top-up-rows.ts'
import { failureMeaning } from '../../payments/auto-top-up-rules.ts'
import type { Payment, PaymentReader } from '../../payments/payment-reader.ts'
import { money } from '../../web/format.ts'
import { cardLabel, failureText } from '../pages/balance/payment-text.ts'
import { chooseLanguage } from '../../web/texts/web-texts.ts'
import { textsOf } from '../texts/texts.ts'
import type { Language } from '../../web/texts/web-texts.ts'
import type { Texts } from '../texts/texts.ts'
import type { Letter } from './mailer.ts'

interface PaymentEmailsOptions {
  readonly payments: PaymentReader
  readonly auto: AutoTopUpRows
  readonly reports: Pick<Reports, 'balance'>
  readonly publicUrl: URL
  /** Of the service. */
  readonly name: string
}

type Content = Omit<Letter, 'to'>

/** What an email tells of, read once for all its readers. */
interface Facts {
  readonly notice: Notice
  readonly payment: Payment | undefined
  readonly setting: AutoTopUp | undefined
  readonly cardTitle: string
  readonly balanceMicros: number
}

/** Emails about automatic top-ups and saved cards, each in its reader's language. */
export class PaymentEmails {
  readonly #options: PaymentEmailsOptions

  constructor(options: PaymentEmailsOptions) {
    this.#options = options
  }

  /** One for each owner; none where there is nothing to tell. */
  async write(notice: Notice, owners: readonly Owner[]): Promise<readonly Letter[]> {
    const facts = await this.#facts(notice)
    return owners.flatMap(({ email, language }) => {
      const content = this.#content(facts, chooseLanguage(language, undefined, undefined))
      return content === undefined ? [] : [{ to: email, ...content }]
    })
  }

  async #facts(notice: Notice): Promise<Facts> {
    const { payments, auto, reports } = this.#options
    const [payment, setting, balance] = await Promise.all([
      payments.payment(notice.subject),
      auto.setting(notice.account_id),
      reports.balance(notice.account_id),
    ])
    const cardId = payment?.saved_method_id ?? setting?.card_id
    const card = cardId === undefined ? undefined : await auto.card(cardId)
    return {
      notice,
      payment,
      setting,
      cardTitle: card?.title ?? '',
      balanceMicros: balance?.balanceMicros ?? 0,
    }
  }

  #content(facts: Facts, language: Language): Content | undefined {
    const texts = textsOf(language)
    const { notice, payment, setting } = facts
    switch (notice.kind) {
      case 'auto-paid':
        return payment && this.#paid(facts, payment, texts, language)
      case 'auto-failed':
        return payment && this.#failed(facts, payment, texts, language)
      case 'auto-limit':
        return setting && this.#limit(setting, texts, language)
      case 'auto-on':
        return setting && this.#on(facts, setting, texts, language)
      case 'auto-off':
        return this.#plain(texts.autoTopUpEmails.off)
      case 'card-unlinked': {
        const { subject, text } = texts.autoTopUpEmails.unlinked
        const { name } = this.#options
        return {
          subject: subject(name),
          text: text(name, cardLabel(texts, notice.subject), this.#link('/balance/auto')),
        }
      }
      default:
        return undefined
    }
  }

  #plain({ subject, text }: Texts['autoTopUpEmails']['off']): Content {
    const { name } = this.#options
    return { subject: subject(name), text: text(name, this.#link('/balance/auto')) }
  }

  #paid({ cardTitle, balanceMicros }: Facts, payment: Payment, texts: Texts, language: Language): Content {
    const { name } = this.#options
    const { subject, text } = texts.autoTopUpEmails.paid
    const amount = money(payment.amount_micros, language)
    const balance = money(balanceMicros, language)
    const card = cardLabel(texts, payment.method_title ?? cardTitle)
    return {
      subject: subject(name, amount),
      text: text(name, { amount, card, balance, link: this.#link('/balance/auto') }),
    }
  }

  #failed({ cardTitle, setting }: Facts, payment: Payment, texts: Texts, language: Language): Content {
    const { name } = this.#options
    const { subject, text, again, off, cardForgotten } = texts.autoTopUpEmails.failed
    const { forgetsCard } = failureMeaning(payment.failure ?? '')
    const next = forgetsCard ? cardForgotten : setting?.state === 'on' ? again : off
    return {
      subject: subject(name),
      text: text(name, {
        amount: money(payment.amount_micros, language),
        card: cardLabel(texts, cardTitle),
        reason: failureText(texts, payment.failure),
        next,
        link: this.#link('/balance'),
      }),
    }
  }

  #limit({ month_max_micros: max }: AutoTopUp, texts: Texts, language: Language): Content {
    const { name } = this.#options
    const { subject, text } = texts.autoTopUpEmails.limit
    return { subject: subject(name), text: text(name, money(max, language), this.#link('/balance/auto')) }
  }

  #on({ cardTitle }: Facts, setting: AutoTopUp, texts: Texts, language: Language): Content {
    const { name } = this.#options
    const { subject, text } = texts.autoTopUpEmails.on
    const rule = texts.autoTopUp.rule(
      money(setting.below_micros, language),
      money(setting.amount_micros, language),
      cardLabel(texts, cardTitle),
    )
    const max = money(setting.month_max_micros, language)
    return { subject: subject(name), text: text(name, { rule, max, link: this.#link('/balance/auto') }) }
  }

  #link(path: string): string {
    return new URL(path, this.#options.publicUrl).href
  }
}

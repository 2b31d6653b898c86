import type { AutoTopUp } from '../../payments/auto-top-up-rows.ts'
import { failureMeaning } from '../../payments/auto-top-up-rules.ts'
import { PaymentReader, type Payment } from '../../payments/payment-reader.ts'
import { repeat, type Repeated } from '../../platform/repeat.ts'
import type { NoticeRow } from '../../stores/records/payment-tables.ts'
import { tryWrite, type Records } from '../../stores/records/records.ts'
import { money } from '../../web/format.ts'
import type { Recipient } from '../../web/sign-in/auth.ts'
import { chooseLanguage, type Language } from '../../web/texts/language.ts'
import { cardLabel, failureText } from '../pages/balance/payment.ts'
import type { Site } from '../page.ts'
import { textsOf } from '../texts/texts.ts'
import type { Email, Mailer } from './mailer.ts'

interface PaymentEmailsOptions extends Pick<
  Site,
  'records' | 'autoTopUps' | 'reports' | 'publicUrl' | 'name' | 'clock' | 'log'
> {
  readonly mailer: Mailer
}

/** The facts of an email, read once for all its recipients. */
interface Facts {
  readonly notice: NoticeRow
  readonly payment: Payment | undefined
  readonly setting: AutoTopUp | undefined
  readonly cardTitle: string
  readonly balanceMicros: number
}

const everyMs = 1000
const takenMax = 20
/** Longer than all delivery attempts of an email take. */
const takenMs = 5 * 60_000
/** An email that was undeliverable for this long is outdated. */
const keptMs = 3 * 24 * 3_600_000

/** Sends the emails to owners that transactions have queued, and retries until a mail server accepts them. */
export function tellNotices(options: PaymentEmailsOptions): Repeated {
  const { records, clock, log } = options
  return repeat(everyMs, async () => {
    try {
      for (const notice of await takeNotices(records, clock.now())) await tell(options, notice)
    } catch (error) {
      log.error({ error }, 'emails that are owed could not be sent')
    }
  })
}

/** Claims due notices for a while; one that is not ended by then is claimed again, by any node. */
async function takeNotices(records: Records, now: number): Promise<readonly NoticeRow[]> {
  const { build } = records
  const due = await records.all(
    build.selectFrom('notices').selectAll().where('next_at', '<=', now).orderBy('next_at').limit(takenMax),
  )
  const taken: NoticeRow[] = []
  for (const notice of due) {
    const write = build
      .updateTable('notices')
      .set({ next_at: now + takenMs })
      .where('id', '=', notice.id)
      .where('next_at', '=', notice.next_at)
    if (await tryWrite(records, [{ write, rows: 1 }])) taken.push(notice)
  }
  return taken
}

/** The owners of an account with a confirmed email. */
async function ownersOf(records: Records, accountId: string): Promise<readonly Recipient[]> {
  const rows = await records.all(
    records.build
      .selectFrom('memberships')
      .innerJoin('users', 'users.id', 'memberships.user_id')
      .select(['users.email', 'users.language'])
      .where('memberships.account_id', '=', accountId)
      .where('memberships.role', '=', 'owner')
      .where('users.email_verified', '=', 1),
  )
  return rows.map(({ email, language }) => ({ email, language: language ?? undefined }))
}

async function tell(options: PaymentEmailsOptions, notice: NoticeRow): Promise<void> {
  const { records, mailer, clock, log } = options
  const facts = await readFacts(options, notice)
  const owners = await ownersOf(records, notice.account_id)
  const emails = owners.flatMap(({ email, language }) => {
    const content = contentOf(options, facts, chooseLanguage(language))
    return content === undefined ? [] : [{ to: email, ...content }]
  })
  const sent = await Promise.all(emails.map(email => mailer.deliver(email)))
  const isOld = clock.now() - notice.created_at > keptMs
  if (isOld && !sent.includes(true) && emails.length > 0)
    log.error({ account: notice.account_id, kind: notice.kind }, 'an email that was owed is given up')
  // Delivered, outdated, or without recipients.
  if (emails.length === 0 || sent.includes(true) || isOld)
    await records.write([{ write: records.build.deleteFrom('notices').where('id', '=', notice.id) }])
}

async function readFacts(
  { records, autoTopUps: auto, reports }: PaymentEmailsOptions,
  notice: NoticeRow,
): Promise<Facts> {
  const [payment, setting, balance] = await Promise.all([
    new PaymentReader(records).payment(notice.subject),
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

/** The content of an email about automatic top-ups or saved cards; undefined where it is no longer relevant. */
function contentOf(
  { name, publicUrl }: PaymentEmailsOptions,
  { notice, payment, setting, cardTitle, balanceMicros }: Facts,
  language: Language,
): Omit<Email, 'to'> | undefined {
  const texts = textsOf(language)
  const { paid, failed, limit, on, off, unlinked } = texts.autoTopUpEmails
  const shown = (micros: number): string => money(micros, language)
  const link = new URL('/balance/auto', publicUrl).href
  switch (notice.kind) {
    case 'auto-paid': {
      if (payment === undefined) return undefined
      const amount = shown(payment.amount_micros)
      const card = cardLabel(texts, payment.method_title ?? cardTitle)
      const said = { amount, card, balance: shown(balanceMicros), link }
      return { subject: paid.subject(name, amount), text: paid.text(name, said) }
    }
    case 'auto-failed': {
      if (payment === undefined) return undefined
      const { forgetsCard } = failureMeaning(payment.failure ?? '')
      const said = {
        amount: shown(payment.amount_micros),
        card: cardLabel(texts, cardTitle),
        reason: failureText(texts, payment.failure),
        next: forgetsCard ? failed.cardForgotten : setting?.state === 'on' ? failed.again : failed.off,
        link: new URL('/balance', publicUrl).href,
      }
      return { subject: failed.subject(name), text: failed.text(name, said) }
    }
    case 'auto-limit':
      return (
        setting && {
          subject: limit.subject(name),
          text: limit.text(name, shown(setting.month_max_micros), link),
        }
      )
    case 'auto-on': {
      if (setting === undefined) return undefined
      const card = cardLabel(texts, cardTitle)
      const rule = texts.autoTopUp.rule(shown(setting.below_micros), shown(setting.amount_micros), card)
      const said = { rule, max: shown(setting.month_max_micros), link }
      return { subject: on.subject(name), text: on.text(name, said) }
    }
    case 'auto-off':
      return { subject: off.subject(name), text: off.text(name, link) }
    case 'card-unlinked':
      return {
        subject: unlinked.subject(name),
        text: unlinked.text(name, cardLabel(texts, notice.subject), link),
      }
    default:
      return undefined
  }
}

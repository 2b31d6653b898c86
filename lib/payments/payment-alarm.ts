import type { Log } from '../platform/log.ts'

/** What an operator has to look at. */
export const paymentAlarms = {
  payment_differs: 'a payment is not what its provider says; nothing was credited',
  payment_refused: 'the payment provider refused a payment',
  refund_differs: 'a refund is not what its provider says; nothing was changed',
  refund_refused: 'the payment provider refused a refund; the money is on the balance again',
  refund_unknown: 'the provider returned money that nobody asked to return here: a chargeback, or by hand',
  receipt_failed: 'a fiscal receipt failed; it is made again',
  reconciliation_differs: 'payments differ from those of their provider',
  provider_credentials: 'the payment provider refuses the shop: check payments.yookassa.shopId and secretKey',
  auto_top_up_failed: 'an automatic top-up could not be begun',
} as const

export type PaymentAlarmCode = keyof typeof paymentAlarms

/** Says that an operator has to look: in the log and, by its code, in the metrics. */
export type PaymentAlarm = (code: PaymentAlarmCode, details: object) => void

/** Alarms that are logged, and counted by whoever counts. */
export function paymentAlarm(
  log: Pick<Log, 'error'>,
  count: (code: PaymentAlarmCode) => void = () => undefined,
): PaymentAlarm {
  return (code, details) => {
    log.error({ ...details, alarm: code }, paymentAlarms[code])
    count(code)
  }
}

import { PaymentReader } from '../payments/payment-reader.ts'
import type { SharedOptions } from './add-command.ts'
import { openStoreSetting } from './open-config.ts'

/** Reads payments, beside a running server or without one. */
export async function readPayments<T>(
  options: SharedOptions,
  read: (payments: PaymentReader) => Promise<T>,
): Promise<T> {
  const { openRecordReader } = await import('../stores/open-store.ts')
  const records = await openRecordReader(openStoreSetting(options))
  try {
    return await read(new PaymentReader(records))
  } finally {
    await records.close()
  }
}

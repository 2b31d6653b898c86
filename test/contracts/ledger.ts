import type { Test } from 'tap'
import { accountsContract, keysContract } from './accounts.ts'
import { budgetsContract } from './budgets.ts'
import { keyEditsContract } from './key-edits.ts'
import { chargesContract } from './charges.ts'
import { holdsContract } from './holds.ts'
import { jobsContract } from './jobs.ts'
import { objectsContract } from './objects.ts'
import { chargeSearchContract } from './charge-search.ts'
import { recordsContract } from './records.ts'
import { spendingContract } from './spending.ts'
import type { OpenStore } from './store-under-test.ts'
import { usersContract } from './users.ts'

/** The contract of every store. `open` creates a new, empty one and closes it when its test ends. */
export async function ledgerContract(t: Test, open: OpenStore): Promise<void> {
  await holdsContract(t, open)
  await budgetsContract(t, open)
  await keyEditsContract(t, open)
  await chargesContract(t, open)
  await spendingContract(t, open)
  await chargeSearchContract(t, open)
  await accountsContract(t, open)
  await keysContract(t, open)
  await objectsContract(t, open)
  await jobsContract(t, open)
  await usersContract(t, open)
  await recordsContract(t, open)
}

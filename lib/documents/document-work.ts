import type { Clock } from '../platform/clock.ts'
import type { Seller } from '../companies/seller.ts'
import type { Log } from '../platform/log.ts'
import type { Store } from '../stores/store.ts'
import type { OpenDocuments } from './open-documents.ts'

/** What a server does about documents by itself, while its configuration names who sells. */
interface DocumentWork {
  reload(seller: Seller | undefined): Promise<void>
  close(): Promise<void>
}

/** Closes months and reminds of invoices from now on; its modules are loaded only where there is a seller. */
export async function startDocumentWork(
  seller: Seller | undefined,
  store: Pick<Store, 'records'>,
  options: { readonly clock: Clock; readonly log: Pick<Log, 'info' | 'error'> },
): Promise<DocumentWork> {
  let current = seller
  let open: OpenDocuments | undefined
  const start = async (): Promise<void> => {
    if (current === undefined || open !== undefined) return
    const { openDocuments } = await import('./open-documents.ts')
    open = openDocuments({ ...options, records: await store.records(), seller: () => current })
  }
  await start()
  return {
    async reload(next) {
      current = next
      await start()
    },
    async close() {
      await open?.close()
    },
  }
}

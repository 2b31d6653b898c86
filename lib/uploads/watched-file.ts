import type { UploadWatcher } from '../http/upload-watcher.ts'
import type { ObjectFacts } from '../money/usage.ts'

/** A file that is measured while it is uploaded. */
export interface WatchedFile extends UploadWatcher {
  /** The facts of the file; undefined until it has arrived completely. Never rejects. */
  readonly facts: Promise<ObjectFacts> | undefined
  /** The upload broke off. */
  abort(): void
}

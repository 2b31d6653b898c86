import { ForwardSource } from './forward-source.ts'
import type { MediaFacts } from './media-facts.ts'
import { measureMedia } from './measure-media.ts'
import { MediaBudget } from './media-reader.ts'

/** Measures a file while it is uploaded. */
export interface UploadMeter {
  /** The next bytes of the file itself; they are not changed, and never waited for. */
  write(chunk: Buffer): void
  /** The file is whole. Never rejects: what cannot be measured is left out. */
  end(): Promise<MediaFacts>
  /** The upload broke off. */
  abort(): void
}

/** A meter for one file. It keeps two megabytes at most, however large the file is. */
export function measureUpload(): UploadMeter {
  const source = new ForwardSource()
  const measured = measureMedia(source, new MediaBudget())
    .then(
      ({ facts }) => facts,
      // It broke off: what has come of it says nothing.
      () => undefined,
    )
    .finally(() => source.abandon())
  return {
    write: chunk => source.push(chunk),
    async end() {
      source.end()
      return { ...(await measured), bytes: source.receivedBytes }
    },
    abort: () => source.abort(),
  }
}

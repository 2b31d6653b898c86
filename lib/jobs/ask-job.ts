import type { Config } from '../config/config.ts'
import type { UsageReader } from '../dialects/dialect.ts'
import { addDetail } from '../dialects/measure.ts'
import { dialects } from '../routes/find-route.ts'
import { withCredential } from '../models/choose-provider.ts'
import type { NamedObject, UsageReading } from '../money/usage.ts'
import { askProvider } from '../upstream/ask-provider.ts'
import type { Upstreams } from '../upstream/upstreams.ts'
import { createDecoder, type Decoder } from '../http/decode.ts'
import { jobRequestFacts, findJobKind } from './submitted-job.ts'
import type { Job } from '../ledger/job.ts'

/** A provider's response about a job: `gone` when it does not know the job. */
export type JobAnswer = JobReading | 'gone' | 'unknown'

interface JobReading {
  readonly reading: UsageReading
  /** The objects that the response names, including the job itself. */
  readonly objects: readonly NamedObject[]
}

/** Results of batches are large. */
const decodeCaps = { outputBytesMax: 4 * 1024 ** 3, ratioMax: 1000 }

interface AskContext {
  readonly config: Config
  readonly upstreams: Upstreams
  readonly signal: AbortSignal
  /** Called when the configuration lacks the job's credential. */
  readonly onFailure: (job: Job, error: Error) => void
}

/**
 * Polls a job with the credential that created it.
 * @param resultsPath of the document to read instead of the job itself
 * @throws Error when the provider cannot be reached
 */
export async function askJob(context: AskContext, job: Job, resultsPath?: string): Promise<JobAnswer> {
  const { config, upstreams, signal } = context
  const kind = findJobKind(dialects[job.dialect].jobKinds, job.kind)
  const chosen = withCredential(config.providers.get(job.provider), job.dialect, job.credential)
  const operation = resultsPath === undefined ? kind?.retrieval : kind?.results
  if (chosen === undefined) {
    context.onFailure(job, credentialMissing(job))
    return 'unknown'
  }
  if (kind === undefined || operation?.readUsage === undefined) return 'unknown'
  const response: { reader?: UsageReader; decoder?: Decoder | undefined; isGone?: boolean } = {}
  await askProvider(
    upstreams,
    {
      chosen,
      dialectName: job.dialect,
      path: resultsPath ?? kind.path(job.id, chosen.provider.kind),
      signal,
    },
    {
      onHead(head) {
        if (head.status === 404 || head.status === 410) response.isGone = true
        if (head.status < 200 || head.status > 299) return false
        const providerKind = chosen.provider.kind
        const object = { kind: job.kind, id: job.id }
        const reader = operation.readUsage?.(head, { providerKind, facts: jobRequestFacts(job), object })
        const isEncoded = head.contentEncoding !== '' && head.contentEncoding !== 'identity'
        if (isEncoded)
          response.decoder = createDecoder(head.contentEncoding, chunk => reader?.push(chunk), decodeCaps)
        if (reader !== undefined) response.reader = reader
        return true
      },
      onData(chunk) {
        if (response.decoder !== undefined) return response.decoder.write(chunk)
        response.reader?.push(chunk)
        return undefined
      },
    },
  )
  await response.decoder?.end()
  // A part of the results would be charged as all of them.
  if (response.decoder?.isBroken === true) return 'unknown'
  if (response.reader !== undefined)
    return { objects: response.reader.takeObjects(), reading: response.reader.end() }
  return response.isGone === true ? 'gone' : 'unknown'
}

/** The config has changed since; that of another node, or a later one, may have the credential. */
function credentialMissing({ id, provider, credential }: Job): Error {
  return new Error(
    `"${id}" can be polled only with the credential "${credential}" of "${provider}", which is not in the configuration; put it back until the job has ended`,
  )
}

/**
 * Reads the results of a finished job, page after page where there are several.
 * @throws Error when the provider cannot be reached
 */
export async function askResults(context: AskContext, job: Job, resultsPath: string): Promise<JobAnswer> {
  let all: JobReading | undefined
  let path: string | undefined = resultsPath
  while (path !== undefined) {
    const page = await askJob(context, job, path)
    if (typeof page === 'string') return page
    all = all === undefined ? page : joined(all, page)
    path = page.reading.job?.resultsPath
  }
  return all ?? 'unknown'
}

function joined(before: JobReading, { reading, objects }: JobReading): JobReading {
  const lines = [...before.reading.lines, ...reading.lines]
  const beside = [...(before.reading.beside ?? []), ...(reading.beside ?? [])]
  const details: Record<string, number> = { ...before.reading.details }
  for (const [name, units] of Object.entries(reading.details ?? {})) addDetail(details, name, units)
  const flags = [...new Set([...before.reading.flags, ...reading.flags])]
  // The last page may be empty, or have only failures.
  const states = [before.reading.job?.state, reading.job?.state]
  const state = lines.length > 0 ? 'done' : (['done', 'failed'] as const).find(one => states.includes(one))
  const job = reading.job && state && { ...reading.job, state }
  return {
    objects: [...before.objects, ...objects],
    reading: { ...reading, lines, beside, details, flags, hasOutput: lines.length > 0, ...(job && { job }) },
  }
}

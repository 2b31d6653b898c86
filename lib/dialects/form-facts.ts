import { GatewayError } from '../pipeline/errors.ts'
import { JsonScanError, scanJson, type ScanResult } from '../http/json-scan.ts'
import { mediaPartFromMultipart } from '../http/media-part.ts'
import type { MediaPart } from '../http/media-part.ts'
import type { MultipartPart, MultipartResult } from '../http/multipart-scan.ts'
import type { Meters } from '../money/usage.ts'
import type { BodyLength, RequestFacts } from './dialect.ts'
import { isObjectName, objectsIn } from './named-objects.ts'
import { namedModelsIn, searched } from './naming-members.ts'
import { textBytesOf } from './request-facts.ts'

/** A field, scanned as the only member of an object. */
const formField = searched({})

/** Short fields have no legitimate values longer than this. */
const fieldBytesMax = 65_536

/**
 * The text of a form's field; undefined when absent.
 * @throws GatewayError field_ambiguous when the field occurs twice, body_invalid when it is too long
 */
export function readFormField(form: MultipartResult, name: string): string | undefined {
  const part = onePart(form, name)
  return part === undefined ? undefined : textOfPart(part)
}

/** @throws GatewayError field_ambiguous, body_invalid */
export function readFormCount(form: MultipartResult, name: string): number | undefined {
  const text = readFormField(form, name)?.trim()
  if (text === undefined || text === '') return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new GatewayError('body_invalid', `${name} must be a whole number.`, { param: name })
}

/**
 * The facts of a form. Parts with a filename are files; `kind` is their media kind unless their content says otherwise.
 * @throws GatewayError field_ambiguous, body_invalid
 */
export function factsFromForm(
  form: MultipartResult,
  body: BodyLength,
  fileKind: MediaPart['kind'],
  own: { readonly units?: Meters; readonly unitsVariant?: string | undefined } = {},
): RequestFacts {
  const model = onePart(form, 'model')
  const named = namesInForm(form)
  const namedModels = namedModelsIn(named)
  const media = form.parts
    .filter(part => part.filename !== undefined)
    .map(part => mediaPartFromMultipart(part, fileKind))
  return {
    ...(model !== undefined && {
      model: textOfPart(model),
      modelSpan: { start: model.start, end: model.end },
    }),
    isStreaming: isTrue(readFormField(form, 'stream')),
    candidates: Math.max(1, readFormCount(form, 'n') ?? 1),
    textBytes: textBytesOf(body, media),
    media,
    objects: objectsIn(named),
    ...(namedModels.length > 0 && { namedModels }),
    ...(own.units !== undefined && { units: own.units }),
    ...(own.unitsVariant !== undefined && { unitsVariant: own.unitsVariant }),
  }
}

/** What fields name, by the same rules as JSON members; `model` itself is the responding model. */
function namesInForm(form: MultipartResult): ScanResult {
  const findings = form.parts.flatMap(part => {
    const key = lastKey(part.name)
    // A prompt's text may be anything.
    if (part.name.trim().toLowerCase() === 'model' || part.name === 'prompt') return []
    if (part.filename !== undefined && !isNaming(key)) return []
    const isJson = /^\s*[[{]/.test(part.head.toString('latin1', 0, blanksMax))
    if (!isNaming(key) && !isJson) return []
    const text = textOfPart(part)
    const asText = JSON.stringify(text)
    return (isJson ? fieldFindings(key, text) : undefined) ?? fieldFindings(key, asText) ?? []
  })
  return { findings }
}

/** The most blanks before JSON in a field; no client writes more. */
const blanksMax = 1024

/** SDKs write `input_reference[file_id]` for a member of an object, `file_ids[]` for an item of a list. */
function lastKey(name: string): string {
  return name.split(/[[\].]/).findLast(key => key !== '') ?? ''
}

/** Whether a field of this name refers to an object of the provider. */
export function namesObject(field: string): boolean {
  return (fieldFindings(lastKey(field), '""') ?? []).some(isObjectName)
}

function isNaming(key: string): boolean {
  return (fieldFindings(key, '""') ?? []).length > 0
}

const isNoJson: ReadonlySet<JsonScanError['reason']> = new Set(['syntax', 'cut_off'])

/** Undefined where the value is not valid JSON. */
function fieldFindings(key: string, json: string): ScanResult['findings'] | undefined {
  try {
    return scanJson(Buffer.from(`{${JSON.stringify(key)}:${json}}`), formField).findings
  } catch (error) {
    if (error instanceof JsonScanError && isNoJson.has(error.reason)) return undefined
    throw error
  }
}

function onePart(form: MultipartResult, name: string): MultipartPart | undefined {
  // Some servers' form decoders ignore case, blanks or the list marker: two such spellings are one field sent twice.
  const parts = form.parts.filter(part => part.name.trim().toLowerCase().replace(/\[\]$/, '') === name)
  if (parts.length > 1) {
    throw new GatewayError('field_ambiguous', `The form has the field ${name} twice; send it once.`, {
      param: name,
    })
  }
  const [part] = parts
  // A provider that does not know this spelling uses its default: another model, or a size that costs more.
  if (part !== undefined && part.name !== name) {
    throw new GatewayError(
      'body_invalid',
      `The form spells the field ${name} as ${JSON.stringify(part.name)}.`,
      { param: name },
    )
  }
  return part
}

function textOfPart(part: MultipartPart): string {
  const length = part.end - part.start
  if (length > fieldBytesMax || part.head.length < length)
    throw new GatewayError('body_invalid', `The field ${part.name} is too long.`, { param: part.name })
  return part.head.toString()
}

/** The values that servers read as true in a form. */
function isTrue(text: string | undefined): boolean {
  return text !== undefined && ['true', '1', 'yes', 'on'].includes(text.trim().toLowerCase())
}

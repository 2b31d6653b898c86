import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname } from 'node:path'
import { keyListMax, textLengthsMax } from '../administration/text-lengths.ts'
import { systemClock, zonedDayEnd, zonedParse } from '../platform/clock.ts'
import { makeFolder } from '../platform/make-folder.ts'
import { isSeen, isSeenInLines } from '../platform/seen-text.ts'
import { isAddressRange } from '../config/scalars.ts'
import { isDay } from '../ledger/moscow-days.ts'
import type { Micros } from '../ledger/ledger.ts'
import { parseRoubles } from '../money/amount.ts'
import { UsageError } from './command.ts'
import { fileProblem } from '../platform/file-problem.ts'

/** @throws UsageError unless the text is an exact decimal of roubles */
export function roubles(option: string, text: string): Micros {
  try {
    return parseRoubles(text)
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(`${option}: ${error.message}`)
    throw error
  }
}

const isoTime = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/

/**
 * A date (midnight in the zone) or a time with its own zone, as milliseconds.
 * @throws UsageError when it is neither
 */
export function time(option: string, text: string, zone: string): number {
  const ms = isoTime.test(text) ? zonedParse(text, zone) : Number.NaN
  if (Number.isNaN(ms)) {
    throw new UsageError(
      `${option}: "${text}" is not a date such as 2027-01-31 or a time such as 2027-01-31T12:00:00Z`,
    )
  }
  return ms
}

/**
 * The start of a day in the zone, and that of the next day.
 * @throws UsageError when the text is not a day
 */
export function dayOf(option: string, text: string, zone: string): { from: number; until: number } {
  if (!isDay(text)) throw new UsageError(`${option}: "${text}" is not a day such as 2027-01-31`)
  return { from: zonedParse(text, zone), until: zonedDayEnd(text, zone) }
}

/** @throws UsageError when the time is in the past */
export function futureTime(option: string, text: string, zone: string): number {
  const ms = time(option, text, zone)
  if (ms <= systemClock.now()) throw new UsageError(`${option}: ${text} is in the past`)
  return ms
}

/** Splits `a, b,c` into a key's list of limits. @throws UsageError when it is empty or too long */
function commaList(option: string, text: string): string[] {
  const items = text
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== '')
  if (items.length === 0) throw new UsageError(`${option}: names nothing`)
  if (items.length > keyListMax)
    throw new UsageError(`${option}: takes at most ${keyListMax} names, and has ${items.length}`)
  return items
}

/** @throws UsageError when a `*` is anywhere but at the end: such a key would match no model */
export function modelList(option: string, text: string): string[] {
  const items = commaList(option, text).map(item => nameText(item, option, textLengthsMax.modelName))
  const wrong = items.find(item => item.slice(0, -1).includes('*'))
  if (wrong === undefined) return items
  throw new UsageError(`${option}: "${wrong}" has a * that is not at the end`)
}

/** @throws UsageError unless every item is an address or a network */
export function addressList(option: string, text: string): string[] {
  const items = commaList(option, text)
  const wrong = items.find(item => !isAddressRange(item))
  if (wrong === undefined) return items
  throw new UsageError(`${option}: "${wrong}" is neither an IP address nor a network such as 10.0.0.0/8`)
}

/** @throws UsageError unless the text is one of the options */
export function oneOf<T extends string>(option: string, text: string, options: readonly T[]): T {
  const found = options.find(one => one === text)
  if (found === undefined) throw new UsageError(`${option}: "${text}" is none of ${options.join(', ')}`)
  return found
}

const wholeMax = 999_999_999

/** @throws UsageError unless the text is a whole number within the limits */
export function wholeNumber(option: string, text: string, min = 0, max = wholeMax): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (number >= min && number <= max) return number
  throw new UsageError(`${option}: "${text}" is not a whole number from ${min} to ${max}`)
}

const { reason: reasonLengthMax, name: nameLengthMax } = textLengthsMax

/** The value of `--reason`, or of a similar option. @throws UsageError when it is empty or invalid */
export function reasonText(text: string, option = '--reason', lengthMax: number = reasonLengthMax): string {
  const reason = noteText(text, option, lengthMax)
  if (reason === '') throw new UsageError(`${option}: takes 1 to ${lengthMax} characters`)
  return reason
}

/** A text that may be empty. @throws UsageError when it is too long, or contains invisible characters */
export function noteText(text: string, option = '--note', lengthMax: number = reasonLengthMax): string {
  const note = shortText(option, text, lengthMax)
  if (!isSeenInLines(note)) throw unseen(option)
  return note
}

/** The value of `--name`, or of a similar option. @throws UsageError as `noteText`, or when it has line breaks */
export function nameText(text: string, option = '--name', lengthMax: number = nameLengthMax): string {
  const name = shortText(option, text, lengthMax)
  if (!isSeen(name)) throw unseen(option)
  return name
}

function shortText(option: string, text: string, lengthMax: number): string {
  const trimmed = text.trim()
  if (trimmed.length <= lengthMax) return trimmed
  throw new UsageError(`${option}: takes at most ${lengthMax} characters, and has ${trimmed.length}`)
}

function unseen(option: string): UsageError {
  return new UsageError(`${option}: contains a control character: remove it`)
}

/** The value of `--email`. @throws UsageError when it is not an email address */
export function emailAddress(text: string): string {
  const email = text.trim().toLowerCase()
  if (/^[^\s@]+@[^\s@]+$/.test(email) && email.length <= 254) return email
  throw new UsageError(`--email: "${text}" is not an email address`)
}

/**
 * The path of an output file. It is checked and its folder created before the command makes changes that a failed
 * write would not undo.
 * @throws UsageError where the file cannot be written
 */
export function outFile(path: string): string {
  try {
    makeFolder(dirname(path))
    accessSync(existsSync(path) ? path : dirname(path), constants.W_OK)
  } catch (error) {
    throw new UsageError(`--out: ${path} cannot be written: ${fileProblem(error)}`)
  }
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true)
    throw new UsageError(`--out: ${path} is a folder, and a file is to be written`)
  return path
}

/** The operator's name in the operator log for actions from the command line. */
export function operatorName(): string {
  return `${userInfo().username} (command line)`
}

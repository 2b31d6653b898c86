/** The source of time. Tests use their own. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
}

/** The time of day, which may be set back. */
export const systemClock: Clock = { now: () => Date.now() }

/** Unaffected by changes of the system's time. Only differences between its values have a meaning. */
export const steadyClock: Clock = { now: () => performance.now() }

/** Cached: creating a format takes longer than all its uses. */
const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hourCycle: 'h23',
      timeZoneName: 'longOffset',
    })
    formats.set(zone, format)
  }
  return format
}

function partsOf(ms: number, zone: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    formatOf(zone)
      .formatToParts(ms)
      .map(({ type, value }) => [type, value]),
  )
}

/** Whether a time zone of that name exists: `Europe/Moscow`, `UTC`. */
export function isTimeZone(name: string): boolean {
  try {
    return formatOf(name) !== undefined
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}

/** A time as the clocks of a zone show it, to the second, with its offset from UTC: `2026-11-22 15:04:05+03:00`. */
export function zonedTime(ms: number, zone: string): string {
  const { year, month, day, hour, minute, second, timeZoneName = '' } = partsOf(ms, zone)
  return `${year}-${month}-${day} ${hour}:${minute}:${second}${timeZoneName === 'GMT+00:00' ? 'Z' : timeZoneName.slice('GMT'.length) || 'Z'}`
}

/** When the day of a moment began in a zone, or a day before it, in milliseconds since the epoch. */
export function zonedDayStart(ms: number, zone: string, daysBack = 0): number {
  const today = Date.parse(`${zonedTime(ms, zone).slice(0, 10)}T00:00:00Z`)
  return zonedMidnight(new Date(today - daysBack * 86_400_000).toISOString().slice(0, 10), zone)
}

/** When an ISO day ends in a zone, in milliseconds since the epoch; throws a RangeError for an invalid day. */
export function zonedDayEnd(isoDay: string, zone: string): number {
  return zonedMidnight(new Date(Date.parse(isoDay) + 86_400_000).toISOString().slice(0, 10), zone)
}

/**
 * Parses a time, or a date, which starts at midnight in a zone; milliseconds since the epoch, NaN when it is neither.
 */
export function zonedParse(text: string, zone: string): number {
  const ms = Date.parse(text)
  return Number.isNaN(ms) || !/^\d{4}-\d{2}-\d{2}$/.test(text) ? ms : zonedMidnight(text, zone)
}

/** When the clocks of a zone show midnight at the start of an ISO day, in milliseconds since the epoch. */
function zonedMidnight(isoDay: string, zone: string): number {
  const midnight = Date.parse(`${isoDay}T00:00:00Z`)
  const offsetAt = (ms: number): number => {
    const { year, month, day, hour, minute, second } = partsOf(ms, zone)
    return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`) - ms
  }
  // First the offset at a nearby moment, then the one at the moment itself: the clocks may change in between.
  return midnight - offsetAt(midnight - offsetAt(midnight))
}

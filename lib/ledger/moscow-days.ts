import { budgetDay, dayStart } from './key-spending.ts'

const msPerDay = 86_400_000
const msPerHour = 3_600_000

/** The day of a moment in Moscow: `2026-11-20`. */
export function moscowDay(at: number): string {
  return new Date(budgetDay(at) * msPerDay).toISOString().slice(0, 10)
}

/** The hour of a moment in Moscow, 0 to 23. */
export function moscowHour(at: number): number {
  return Math.floor((at - dayStart(budgetDay(at))) / msPerHour)
}

/** Days since the epoch of an ISO day, as the ledger counts them. */
export function dayNumber(iso: string): number {
  return Date.parse(`${iso}T00:00:00Z`) / msPerDay
}

/** When the day after an ISO day begins in Moscow. */
export function dayEnd(iso: string): number {
  return dayStart(dayNumber(iso) + 1)
}

/** The last day of a month: `2026-11-30` for `2026-11`. */
export function lastDay(month: string): string {
  const [year = 0, number = 0] = month.split('-').map(Number)
  return new Date(Date.UTC(year, number, 0)).toISOString().slice(0, 10)
}

/** The month before or after: `2026-12` for `2026-11` and 1. */
export function shiftMonth(month: string, by: number): string {
  const [year = 0, number = 0] = month.split('-').map(Number)
  return new Date(Date.UTC(year, number - 1 + by, 1)).toISOString().slice(0, 7)
}

/** Whether a text is a valid month. */
export function isMonth(text: string): boolean {
  return /^20\d\d-(?:0[1-9]|1[0-2])$/.test(text)
}

/** Whether a text is a valid day. */
export function isDay(text: string): boolean {
  return (
    isMonth(text.slice(0, 7)) &&
    /^.{7}-\d\d$/.test(text) &&
    text >= `${text.slice(0, 7)}-01` &&
    text <= lastDay(text.slice(0, 7))
  )
}

/** The day that is so many working days ahead, Monday to Friday; public holidays are not considered. */
export function addWorkingDays(iso: string, count: number): string {
  let day = dayNumber(iso)
  for (let left = count; left > 0;) {
    day += 1
    const weekday = new Date(day * msPerDay).getUTCDay()
    if (weekday !== 0 && weekday !== 6) left -= 1
  }
  return new Date(day * msPerDay).toISOString().slice(0, 10)
}

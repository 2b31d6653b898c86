import type { AccountBrowser } from '../test/fixtures/account-browser.ts'

/**
 * Requests a page repeatedly.
 * @returns milliseconds of each, the shortest first
 * @throws Error when a response has a status other than 200
 */
export async function measurePage(
  browser: AccountBrowser,
  path: string,
  repeats: number,
): Promise<readonly number[]> {
  const times: number[] = []
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const began = performance.now()
    const { status } = await browser.get(path)
    times.push(performance.now() - began)
    if (status !== 200) throw new Error(`${path} was answered with ${status}`)
  }
  return times.toSorted((left, right) => left - right)
}

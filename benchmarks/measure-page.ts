import type { AccountBrowser } from '../test/fixtures/account-browser.ts'

/**
 * Asks for a page again and again.
 * @returns milliseconds of each, the shortest first
 * @throws Error when it is answered with anything but 200
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

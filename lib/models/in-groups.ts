import { setImmediate } from 'node:timers/promises'

/** Questions that are asked in one turn of the event loop. */
const atOnce = 50

/** Asks for each, in order: requests with thousands of names keep nobody else waiting. */
export async function inGroups<Named, Answer>(
  named: readonly Named[],
  ask: (one: Named) => Promise<Answer>,
): Promise<readonly Answer[]> {
  const answers: Answer[] = []
  for (let start = 0; start < named.length; start += atOnce) {
    if (start > 0) await setImmediate()
    answers.push(...(await Promise.all(named.slice(start, start + atOnce).map(ask))))
  }
  return answers
}

import { turns } from './turns.ts'

/**
 * Runs what goes step by step, each a piece of work that is short enough for nobody to wait. What has one step
 * only is done at once.
 */
export function runSteps<T>(steps: Generator<undefined, T>): T | Promise<T> {
  const first = steps.next()
  return first.done === true ? first.value : runRest(steps)
}

async function runRest<T>(steps: Generator<undefined, T>): Promise<T> {
  for (;;) {
    const step = turns.take(() => steps.next())
    const { done, value } = step instanceof Promise ? await step : step
    if (done === true) return value
  }
}

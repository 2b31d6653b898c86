import { setTimeout } from 'node:timers/promises'
import type { Test } from 'tap'
import type { ClientGateway } from './client-gateway.ts'
import type { SeenFault } from './client-tables.ts'

/** The prompts, and whether the key is of an account without money. */
const faults = [
  { fault: '402', prompt: 'Ask without money.', isPoor: true },
  { fault: '429', prompt: 'Ask too fast.', isPoor: false },
  { fault: '501', prompt: 'Ask for what is not there.', isPoor: false },
  { fault: 'cut', prompt: 'Be cut off.', isPoor: false },
]

/** How long a client may keep trying before it is stopped. */
const patienceMs = 240_000
/** Several clients that start at once are slow, so each waits this long for the one before it. */
const headStartMs = 8000

export type Ask = (
  prompt: string,
  key: string,
  timeoutMs: number,
) => Promise<{ readonly code: number | null; readonly output: string }>

/** A fault that a client has met, or is still trying to overcome. */
interface MetFault {
  readonly gateway: ClientGateway
  readonly seen: Promise<SeenFault>
}

/**
 * Has a client meet each fault, in a gateway and a home folder of its own. Waits between its tries continue
 * while other clients run.
 */
export async function beginFaults(
  start: () => Promise<{ readonly gateway: ClientGateway; readonly ask: Ask }>,
): Promise<readonly MetFault[]> {
  const met: MetFault[] = []
  for (const { fault, prompt, isPoor } of faults) {
    const { gateway, ask } = await start()
    const seen = seeFault(gateway, fault, key => ask(prompt, key, patienceMs), isPoor)
    met.push({ gateway, seen })
    await Promise.race([seen, setTimeout(headStartMs, undefined, { ref: false })])
  }
  return met
}

async function seeFault(
  gateway: ClientGateway,
  fault: string,
  ask: (key: string) => ReturnType<Ask>,
  isPoor: boolean,
): Promise<SeenFault> {
  const startedAt = Date.now()
  const { code, output } = await ask(isPoor ? gateway.poorKey : gateway.key)
  const seconds = Math.round((Date.now() - startedAt) / 1000)
  const tries = gateway.tries()
  return code === null
    ? { fault, tries, seconds }
    : { fault, tries, seconds, said: sayingOf(output, gateway.url) }
}

/** Waits for a client's reaction to each fault, and checks the money. */
export async function endFaults(t: Test, met: readonly MetFault[]): Promise<readonly SeenFault[]> {
  const seen: SeenFault[] = []
  for (const { gateway, seen: fault } of met) {
    const one = await fault
    t.ok(one.tries > 0, `${one.fault} occurs`)
    t.same(await gateway.breaches(), [], 'the ledger is in order')
    seen.push(one)
  }
  return seen
}

/** The line that reports the fault, without what differs between two runs. */
function sayingOf(output: string, url: string): string {
  const lines = output
    // oxlint-disable-next-line no-control-regex -- colours of a terminal
    .replaceAll(/\u001b\[[\d;]*[A-Za-z]/g, '')
    .replaceAll(url, 'https://gateway.example')
    .replaceAll(/[0-9a-z]{26}|[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.-]+Z?/g, 'TIME')
    .replaceAll(/\d+\.\d{4,}/g, 'N')
    .split('\n')
    .map(line => line.trim())
    // Without the stack of an error and its fields.
    .filter(line => line !== '' && !/^(?:at |Symbol\(|\w+: (?:'\w+'|null|\w+),?$)/.test(line))
  const telling = lines.filter(line => /rror|disconnect|clos|terminated|incomplete|The quick/.test(line))
  const line =
    lines.find(one => /roubles|60 requests|not in this|connection to the provider/.test(one)) ??
    lines.find(one => /\b(?:402|429|501|502)\b/.test(one)) ??
    telling.at(-1) ??
    lines.at(-1)
  const plain = (line ?? 'nothing').replaceAll('|', '/').replaceAll('`', "'")
  return plain.length > 120 ? `${plain.slice(0, 119)}…` : plain
}

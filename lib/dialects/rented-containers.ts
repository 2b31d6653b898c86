import type { ScanResult } from '../http/json-scan.ts'
import type { UsageLine } from '../money/usage.ts'
import type { RequestFacts } from './dialect.ts'
import { anyOf, value } from './interest.ts'
import { names } from './named-objects.ts'
import { searched } from './naming-members.ts'
import { textOf } from './read-field.ts'
import { knownProvider } from '../providers/known-providers.ts'

const memory = { memory_limit: value('containerMemory') }

/** Where a tool says in which container it runs its code. */
export const containerMembers = {
  container: anyOf(names('container'), searched(memory)),
  environment: searched({ type: value('containerKind'), ...memory }),
}

/** Tools that run in a container, by their types: OpenAI's, and Anthropic's with the day that ends it. */
const inContainer = /^(?:code_interpreter|code_execution_\d+)$/
/** The sizes that OpenAI has; the first unless a request says another. */
const sizes = ['1g', '4g', '16g', '64g'] as const
/** Run where the client says, which costs nothing. */
const localKinds: ReadonlySet<string> = new Set(['local'])

/**
 * The containers that a request rents, of the largest size it names. A container that is there already counts as well:
 * each request keeps it for twenty minutes more at OpenAI, and for five at Anthropic.
 * https://developers.openai.com/api/docs/guides/tools-code-interpreter,
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/code-execution-tool
 */
export function containersIn({ findings }: ScanResult): Pick<RequestFacts, 'units' | 'unitsVariant'> {
  let containers = 0
  let largest = 0
  for (const finding of findings) {
    const { name, type } = finding
    if (type === 'null') continue
    if (name === 'toolType' && inContainer.test(textOf(finding))) containers += 1
    else if (name === 'containerKind' && !localKinds.has(textOf(finding))) containers += 1
    else if (name === 'containerMemory') {
      const size = sizes.findIndex(one => one === textOf(finding))
      largest = Math.max(largest, size === -1 ? sizes.length - 1 : size)
    }
  }
  if (containers === 0) return {}
  return { units: { containers }, ...(largest > 0 && { unitsVariant: sizes[largest] }) }
}

/** What a response's containers are charged as: at the price of no tier. */
export function containersLine(
  { units, unitsVariant }: Pick<RequestFacts, 'units' | 'unitsVariant'>,
  providerKind: string,
): UsageLine | undefined {
  if (units?.containers === undefined || !rentsContainers(providerKind)) return undefined
  const meters = { containers: units.containers }
  return unitsVariant === undefined ? { meters } : { meters, variant: unitsVariant }
}

/** What a prompt may bring that is stored at its provider, where nobody sees its tools before they run. */
export const rentedUnseen = { units: { containers: 1 }, unitsVariant: sizes[sizes.length - 1] } as const

/** What a response of such a prompt is charged: for the container that it tells of, of the size that it tells. */
export function unseenLine(memory: unknown): UsageLine {
  const size = sizes.find(one => one === memory) ?? sizes[0]
  return { meters: rentedUnseen.units, ...(size !== sizes[0] && { variant: size }) }
}

/** Whether a provider rents containers out, by its kind. Others bill code by its runs, or not at all. */
export function rentsContainers(providerKind: string): boolean {
  return knownProvider(providerKind).rentsContainers === true
}

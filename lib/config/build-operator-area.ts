import type { OperatorAreaConfig } from './config.ts'
import type { OperatorAreaSettings } from './operator-area-schema.ts'
import type { Problems } from './problems.ts'
import { isLoopback } from './scalars.ts'

/** The operators' pages as they run. */
export function buildOperatorArea(
  { listen, publicUrl, name, secret }: OperatorAreaSettings,
  problems: Problems,
): OperatorAreaConfig {
  if (publicUrl?.protocol === 'http:' && !isLoopback(publicUrl)) {
    problems.add(
      ['operatorArea', 'publicUrl'],
      'must be https: over plain http anybody on the way reads the cookies',
    )
  }
  if (publicUrl === undefined && !/^(localhost|127\..*|::1)$/.test(listen.host)) {
    problems.add(
      ['operatorArea', 'publicUrl'],
      'is needed where others than this machine can reach it: forms are taken from there alone',
    )
  }
  return {
    listen,
    ...(publicUrl !== undefined && { publicUrl }),
    name,
    ...(secret !== undefined && { secret }),
  }
}

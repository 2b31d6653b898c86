import type { Config, Listen } from './config.ts'
import type { Path } from './config-error.ts'

const everyAddress = new Set(['0.0.0.0', '::'])

function collide(left: Listen, right: Listen): boolean {
  if (left.port !== right.port || left.port === 0) return false
  return left.host === right.host || everyAddress.has(left.host) || everyAddress.has(right.host)
}

/** Listeners that would find their port taken by another one of the same gateway. */
export function checkListens({
  listen,
  admin,
  accountArea,
  operatorArea,
}: Pick<Config, 'listen' | 'admin' | 'accountArea' | 'operatorArea'>): readonly {
  readonly path: Path
  readonly message: string
}[] {
  const listens = [
    { name: 'listen', path: ['listen'], own: listen },
    { name: 'admin.listen', path: ['admin', 'listen'], own: admin?.listen },
    { name: 'accountArea.listen', path: ['accountArea', 'listen'], own: accountArea?.listen },
    { name: 'operatorArea.listen', path: ['operatorArea', 'listen'], own: operatorArea?.listen },
  ]
  return listens.flatMap(({ path, own }, index) => {
    const other = listens
      .slice(0, index)
      .find(earlier => own !== undefined && earlier.own !== undefined && collide(earlier.own, own))
    if (other === undefined || own === undefined) return []
    return [{ path: [...path, 'port'], message: `${own.port} is the port of ${other.name} already` }]
  })
}

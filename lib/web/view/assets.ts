import { hash } from 'node:crypto'
import { script } from './script.ts'
import { baseStyle } from './style-base.ts'
import { partsStyle } from './style-parts.ts'

/** A file that pages load, under a name that changes with what is in it. */
export interface Asset {
  readonly path: string
  readonly type: string
  readonly body: string
}

function asset(name: string, ending: string, type: string, body: string): Asset {
  return { path: `/assets/${name}-${hash('sha256', body, 'hex').slice(0, 16)}.${ending}`, type, body }
}

/**
 * The stylesheet and the script of an area's pages.
 * @param style the rules of its own, behind those of every area
 */
export function areaAssets(style: readonly string[]): { readonly style: Asset; readonly script: Asset } {
  const rules = [baseStyle, partsStyle, ...style].join('\n')
  return {
    style: asset('style', 'css', 'text/css; charset=utf-8', rules),
    script: asset('script', 'js', 'text/javascript; charset=utf-8', script),
  }
}

import { hash } from 'node:crypto'
import { script } from './script.ts'
import { style } from './style.ts'

/** A file that pages load, under a name that changes with what is in it. */
export interface Asset {
  readonly path: string
  readonly type: string
  readonly body: string
}

function asset(name: string, ending: string, type: string, body: string): Asset {
  return { path: `/assets/${name}-${hash('sha256', body, 'hex').slice(0, 16)}.${ending}`, type, body }
}

/** The stylesheet and the script of all pages. */
export const assets = {
  style: asset('style', 'css', 'text/css; charset=utf-8', style),
  script: asset('script', 'js', 'text/javascript; charset=utf-8', script),
}

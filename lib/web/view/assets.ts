import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** A file that pages load; its name changes with its content. */
export interface Asset {
  readonly path: string
  readonly type: string
  readonly body: string
}

/** The complete script. Every page works without it; buttons that need it stay hidden. */
const script = `'use strict'
for (const button of document.querySelectorAll('[data-copy]')) {
  button.hidden = false
  button.addEventListener('click', async () => {
    const source = document.getElementById(button.dataset.copy)
    await navigator.clipboard.writeText(source.value ?? source.textContent.trim())
    const label = button.textContent
    button.textContent = button.dataset.done
    setTimeout(() => { button.textContent = label }, 2000)
  })
}
for (const link of document.querySelectorAll('[data-fill]')) {
  link.addEventListener('click', event => {
    event.preventDefault()
    const field = document.getElementById(link.dataset.fill)
    field.value = link.dataset.value
    field.focus()
  })
}
for (const part of document.querySelectorAll('[data-refresh]')) {
  let wait = 2500
  const look = async () => {
    try {
      const response = await fetch(part.dataset.refresh, { redirect: 'error' })
      const text = response.ok ? await response.text() : undefined
      const state = response.headers.get('x-state')
      if (text !== undefined && state !== part.dataset.state) {
        part.innerHTML = text
        part.dataset.state = state
      }
      if (state === 'succeeded' || state === 'canceled') return
    } catch {
      // Offline; it tries again.
    }
    wait = Math.min(wait * 1.1, 15000)
    setTimeout(look, wait)
  }
  setTimeout(look, wait)
}
for (const part of document.querySelectorAll('[data-check]')) {
  const form = part.querySelector('form')
  const typedInto = new Set()
  let timer
  let asked = 0
  const show = errors => {
    for (const name of typedInto) {
      const input = document.getElementById(name)
      const message = errors[name]
      let problem = document.getElementById(name + '-error')
      if (message !== undefined && problem === null) {
        problem = document.createElement('span')
        problem.id = name + '-error'
        problem.className = 'problem'
        problem.setAttribute('role', 'status')
        input.closest('.field').append(problem)
        input.setAttribute('aria-describedby', (input.getAttribute('aria-describedby') + ' ' + problem.id).trim())
      }
      if (problem !== null) problem.textContent = message ?? ''
      if (message === undefined) input.removeAttribute('aria-invalid')
      else input.setAttribute('aria-invalid', 'true')
    }
  }
  const check = async () => {
    const own = (asked += 1)
    try {
      const body = new URLSearchParams(new FormData(form))
      const response = await fetch(part.dataset.check, { method: 'POST', body, redirect: 'error' })
      if (response.ok && own === asked) show(await response.json())
    } catch {
      // Offline; the server checks again when the form is sent.
    }
  }
  form.addEventListener('input', event => {
    typedInto.add(event.target.name)
    clearTimeout(timer)
    timer = setTimeout(check, 500)
  })
}
`

function asset(name: string, ending: string, type: string, body: string): Asset {
  return { path: `/assets/${name}-${hash('sha256', body, 'hex').slice(0, 16)}.${ending}`, type, body }
}

/**
 * The stylesheet and script of an area's pages.
 * @param ownStyle the area's own rules, appended to those of all areas
 */
export function areaAssets(...ownStyle: readonly URL[]): { readonly style: Asset; readonly script: Asset } {
  const files = [new URL('style.css', import.meta.url), ...ownStyle]
  const rules = files.map(file => readFileSync(file, 'utf8')).join('\n')
  return {
    style: asset('style', 'css', 'text/css; charset=utf-8', rules),
    script: asset('script', 'js', 'text/javascript; charset=utf-8', script),
  }
}

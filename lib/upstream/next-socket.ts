import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'

/** Whoever sends a request. */
export interface SocketTaker {
  onSocket(socket: Socket): void
}

let taker: SocketTaker | undefined

// undici names the connection of a request in this channel alone, between onRequestStart and the request's first byte.
subscribe('undici:client:sendHeaders', message => {
  const told = taker
  taker = undefined
  told?.onSocket((message as { readonly socket: Socket }).socket)
})

/**
 * Tells the connection on which a request is sent. Called in its onRequestStart, behind which undici sends it in the
 * same call; undefined for a request that does not ask, so that it is told nothing of another's.
 */
export function takeNextSocket(next: SocketTaker | undefined): void {
  taker = next
}

/** An operation as a request of topicd's API. The floor and the obvious servers have the same API. */
import { type Operation, selectorText } from '../work/operation.js'
import type { Exchange } from './contender.js'

/** The request of an operation, without its answers. */
export function topicdRequest(operation: Operation): Omit<Exchange, 'expected'> {
  return { method: 'POST', path: `/topics/${route(operation)}`, body: body(operation) }
}

function route(operation: Operation): string {
  switch (operation.kind) {
    case 'fetch':
    case 'page':
      return 'fetch'
    case 'overwrite':
    case 'create':
      return 'addAndSet'
    case 'add':
      return 'add'
    case 'remove':
      return 'remove'
  }
}

function body(operation: Operation): string {
  switch (operation.kind) {
    case 'fetch':
    case 'add':
    case 'remove':
      return JSON.stringify({ path: operation.path })
    case 'page':
      return JSON.stringify({
        selector: selectorText(operation.selector),
        size: operation.size,
        after: operation.after,
      })
    case 'overwrite':
    case 'create':
      return `{"path":${JSON.stringify(operation.path)},"value":${operation.value}}`
  }
}

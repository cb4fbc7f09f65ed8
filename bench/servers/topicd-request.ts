/** An operation as a request of topicd's API, which the floor and the obvious servers share. */
import { type Item, type Operation, selectorText } from '../workloads/operation.js'
import type { Exchange } from './server.js'

/** The request of an operation, without its responses. */
export function topicdRequest(operation: Operation): Omit<Exchange, 'expected'> {
  return { method: 'POST', path: `/topics/${route(operation)}`, body: body(operation) }
}

function route(operation: Operation): string {
  switch (operation.kind) {
    case 'fetch':
    case 'many':
    case 'page':
    case 'list':
    case 'count':
      return 'fetch'
    case 'set':
    case 'increment':
      return 'set'
    case 'overwrite':
    case 'counter':
    case 'create':
    case 'cas':
      return 'addAndSet'
    case 'batch':
      return 'batch'
    case 'add':
      return 'add'
    case 'remove':
      return 'remove'
  }
}

function body(operation: Operation): string {
  switch (operation.kind) {
    case 'fetch':
    case 'count':
    case 'add':
    case 'remove':
      return JSON.stringify({ path: operation.path })
    case 'many':
      return JSON.stringify({ paths: operation.items.map(({ path }) => path) })
    case 'page':
      return JSON.stringify({
        selector: selectorText(operation.selector),
        size: operation.size,
        after: operation.after,
      })
    case 'list':
      return JSON.stringify({
        selector: selectorText({ subtree: operation.parent }),
        size: operation.size,
        after: operation.after,
        deep_branch_depth: operation.parent.split('/').length + 1,
        deep_branch_limit: 1,
        with_values: false,
      })
    case 'increment':
      return JSON.stringify({ path: operation.path, increment: 1 })
    case 'overwrite':
    case 'set':
    case 'counter':
    case 'create':
      return `{${pathAndValue(operation)}}`
    case 'cas':
      return `{${pathAndValue(operation)},"constraint":{"value":${operation.current}}}`
    case 'batch':
      return `{"operations":[${operation.writes.map((write) => `{"op":"addAndSet",${pathAndValue(write)}}`).join()}]}`
  }
}

function pathAndValue({ path, value }: Item): string {
  return `"path":${JSON.stringify(path)},"value":${value}`
}

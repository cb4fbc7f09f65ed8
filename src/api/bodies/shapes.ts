/** The shapes of request bodies, and of the operations of a batch, by the types that they come from. */
import type { WriteAction } from '../../store/topics.js'
import { requestSchemas } from '../validators.js'
import type {
  AddAndSetBody,
  AddBody,
  BatchBody,
  ChangesBody,
  FetchBody,
  RemoveBody,
  SetOrIncrementBody,
} from './bodies.js'
import { type Shape, shapeOf, within } from './shape.js'

/** By route. Where a body is one of several types, it may have the members of all, and parse.ts tells them apart. */
export const shapes = {
  fetch: shapeOf<FetchBody>(requestSchemas, 'FetchByPath', 'FetchByPaths', 'FetchBySelector'),
  changes: shapeOf<ChangesBody>(requestSchemas, 'ChangesBody'),
  set: shapeOf<SetOrIncrementBody>(requestSchemas, 'SetBody', 'IncrementBody'),
  addAndSet: shapeOf<AddAndSetBody>(requestSchemas, 'AddAndSetBody'),
  add: shapeOf<AddBody>(requestSchemas, 'AddBody'),
  remove: shapeOf<RemoveBody>(requestSchemas, 'RemoveByPath', 'RemoveBySelector'),
  batch: shapeOf<BatchBody>(requestSchemas, 'BatchBody'),
}

const operationTypes = {
  set: ['SetOperation', 'IncrementOperation'],
  increment: ['IncrementOperation'],
  addAndSet: ['AddAndSetOperation'],
  add: ['AddOperation'],
  remove: ['RemoveOperation'],
} as const satisfies Record<WriteAction['kind'], readonly string[]>

/** Any operation of a batch, as it is read: what it may have depends on its `op`, which may come last. */
export const anyOperation: Shape = shapeOf(requestSchemas, ...new Set(Object.values(operationTypes).flat()))

/** Operations of a batch, by their `op`. */
export const operationShapes = Object.fromEntries(
  Object.entries(operationTypes).map(([op, types]) => [op, within(shapeOf(requestSchemas, ...types), anyOperation)]),
) as Readonly<Record<WriteAction['kind'], Shape>>

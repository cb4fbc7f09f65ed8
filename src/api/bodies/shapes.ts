/** Schemas of request bodies, by typia, and the shapes that read them. The API description shows the same schemas. */
import typia from 'typia'
import type { WriteAction } from '../../store/topics.js'
import type {
  AddAndSetBody,
  AddBody,
  BatchBody,
  ChangesBody,
  FetchBody,
  FetchByPath,
  FetchByPaths,
  FetchBySelector,
  IncrementBody,
  RemoveBody,
  RemoveByPath,
  RemoveBySelector,
  SetBody,
  SetOrIncrementBody,
} from './bodies.js'
import type { CreateKeyBody, ListKeysBody, RevokeKeyBody, RotateKeyBody } from './key-bodies.js'
import { type Shape, shapeOf, within } from './shape.js'

/** By route. Where a body is one of several types, it may have the members of all, and parse.ts tells them apart. */
export const bodySchemas = {
  fetch: typia.json.schemas<[FetchByPath, FetchByPaths, FetchBySelector], '3.1'>(),
  changes: typia.json.schemas<[ChangesBody], '3.1'>(),
  set: typia.json.schemas<[SetBody, IncrementBody], '3.1'>(),
  addAndSet: typia.json.schemas<[AddAndSetBody], '3.1'>(),
  add: typia.json.schemas<[AddBody], '3.1'>(),
  remove: typia.json.schemas<[RemoveByPath, RemoveBySelector], '3.1'>(),
  batch: typia.json.schemas<[BatchBody], '3.1'>(),
}

export const shapes = {
  fetch: shapeOf<FetchBody>(bodySchemas.fetch),
  changes: shapeOf<ChangesBody>(bodySchemas.changes),
  set: shapeOf<SetOrIncrementBody>(bodySchemas.set),
  addAndSet: shapeOf<AddAndSetBody>(bodySchemas.addAndSet),
  add: shapeOf<AddBody>(bodySchemas.add),
  remove: shapeOf<RemoveBody>(bodySchemas.remove),
  batch: shapeOf<BatchBody>(bodySchemas.batch),
}

const operationTypes = {
  set: ['SetOperation', 'IncrementOperation'],
  increment: ['IncrementOperation'],
  addAndSet: ['AddAndSetOperation'],
  add: ['AddOperation'],
  remove: ['RemoveOperation'],
} as const satisfies Record<WriteAction['kind'], readonly string[]>

/** Any operation of a batch, as it is read: what it may have depends on its `op`, which may come last. */
export const anyOperation: Shape = shapeOf(bodySchemas.batch, [...new Set(Object.values(operationTypes).flat())])

export const operationShapes = Object.fromEntries(
  Object.entries(operationTypes).map(([op, types]) => [op, within(shapeOf(bodySchemas.batch, types), anyOperation)]),
) as Readonly<Record<WriteAction['kind'], Shape>>

const keySchemas = typia.json.schemas<[ListKeysBody, CreateKeyBody, RotateKeyBody, RevokeKeyBody], '3.1'>()

/** Any request about API keys, as it is read: what it may have depends on its `op`. */
export const anyKeysBody: Shape = shapeOf(keySchemas)

const keysBodyOf = (name: string): Shape => within(shapeOf(keySchemas, [name]), anyKeysBody)

export const keysBodyShapes: ReadonlyMap<unknown, Shape> = new Map([
  ['list', keysBodyOf('ListKeysBody')],
  ['create', keysBodyOf('CreateKeyBody')],
  ['rotate', keysBodyOf('RotateKeyBody')],
  ['revoke', keysBodyOf('RevokeKeyBody')],
])

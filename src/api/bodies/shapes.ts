/** Schemas of request bodies, by typia, and the shapes that read them. The API description shows the same schemas. */
import typia from 'typia'
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
import type { KeysBody } from './key-bodies.js'
import { shapeOf, shapesByOp } from './shape.js'

/** By route. If a route has several types of body, a body may have the members of all, and parse.ts distinguishes them. */
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

export const operationShapes = shapesByOp(bodySchemas.batch)

export const keysShapes = shapesByOp(typia.json.schemas<[KeysBody], '3.1'>())

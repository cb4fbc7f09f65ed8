/**
 * What typia generates from the types of this folder: the schemas of request bodies, by which they are read
 * (bodies/shape.ts), and those of answers, for the API description. Only the three files of this name import typia;
 * cluster/control/ and tools/ have the others.
 *
 * It loads no other file: imports of types are erased at compile time. Bounds that TypeScript cannot express are tags in
 * the comments of the types (`@type uint32`, `@minimum 1`, `@pattern …`), so that no other file depends on typia.
 */
import typia from 'typia'
import type {
  AddAnswer,
  BatchAnswer,
  ChangesPage,
  CountAnswer,
  ErrorAnswer,
  FetchedPaths,
  FetchItem,
  FetchPage,
  IncrementAnswer,
  MissingItem,
  RefusedAnswer,
  RemoveAnswer,
  RemovedItem,
  SetAnswer,
} from './answers.js'
import type {
  AddAndSetBody,
  AddBody,
  BatchBody,
  ChangesBody,
  FetchByPath,
  FetchByPaths,
  FetchBySelector,
  IncrementBody,
  RemoveByPath,
  RemoveBySelector,
  SetBody,
} from './bodies/bodies.js'

/** The JSON schemas of request bodies and what is in them, by the names of their types. */
export const requestSchemas: object | undefined = typia.json.schemas<
  [
    FetchByPath,
    FetchByPaths,
    FetchBySelector,
    ChangesBody,
    SetBody,
    IncrementBody,
    AddAndSetBody,
    AddBody,
    RemoveByPath,
    RemoveBySelector,
    BatchBody,
  ],
  '3.1'
>().components.schemas

/** The JSON schemas of answers, by the names of their types. */
export const answerSchemas: object | undefined = typia.json.schemas<
  [
    FetchItem,
    MissingItem,
    FetchedPaths,
    FetchPage,
    CountAnswer,
    RemovedItem,
    ChangesPage,
    SetAnswer,
    IncrementAnswer,
    AddAnswer,
    RemoveAnswer,
    RefusedAnswer,
    BatchAnswer,
    ErrorAnswer,
  ],
  '3.1'
>().components.schemas

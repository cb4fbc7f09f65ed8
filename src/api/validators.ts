/**
 * What typia generates from the types of this folder: the validators of request bodies, and the schemas of the API
 * description. Only the three files of this name import typia; cluster/control/ and tools/ have the others.
 *
 * It loads no other file: imports of types are erased at compile time. Bounds that TypeScript cannot express are tags in
 * the comments of the types (`@type uint32`, `@minimum 1`, `@pattern …`), so that no other file depends on typia.
 */
import typia, { type IValidation, type TypeGuardError } from 'typia'
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
  AddAndSetOperation,
  AddBody,
  AddOperation,
  BatchBody,
  ChangesBody,
  FetchBody,
  FetchByPath,
  FetchByPaths,
  FetchBySelector,
  IncrementBody,
  IncrementOperation,
  RemoveBody,
  RemoveByPath,
  RemoveBySelector,
  RemoveOperation,
  SetBody,
  SetOrIncrementBody,
  SetOrIncrementOperation,
  UncheckedBatch,
} from './bodies/bodies.js'

/**
 * What a validator found wrong: where, and what it expected there, which is the text 'undefined' for an unknown member.
 */
export type ValidationError = IValidation.IError

/** What a validator says of an input: that it is of the shape, or the first thing that is wrong with it. */
type Validation<Body> =
  | { readonly success: true; readonly data: Body }
  | { readonly success: false; readonly error: ValidationError }

/** The shape of a JSON object, for bodies/parse-body.ts: its validator, and the names of its members. */
export interface BodyShape<Body> {
  readonly validate: (input: unknown) => Validation<Body>
  readonly names: readonly string[]
  /** Whether the validator looks into members other than `properties` and `constraint`. */
  readonly isNested?: true
}

/** What a generated assertion throws instead of typia's own error, whose import would load all of typia. */
class Mismatch extends Error {
  readonly error: ValidationError

  constructor({ path = '', expected, value }: TypeGuardError.IProps) {
    super('a value of another shape')
    this.error = { path, expected, value }
  }
}

/** What a generated assertion is given to throw, so that `validatorOf` knows it. */
export const mismatch = (found: TypeGuardError.IProps): Mismatch => new Mismatch(found)

/** A validator that stops at the first error: a body can have 100,000, and a refusal names one. */
export function validatorOf<Body>(assertShape: (input: unknown) => Body): BodyShape<Body>['validate'] {
  return (input) => {
    try {
      return { success: true, data: assertShape(input) }
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error
      return { success: false, error: error.error }
    }
  }
}

export const fetchShape: BodyShape<FetchBody> = {
  validate: validatorOf(typia.createAssertEquals<FetchBody>(mismatch)),
  names: typia.misc.literals<keyof FetchBody>(),
}
export const changesShape: BodyShape<ChangesBody> = {
  validate: validatorOf(typia.createAssertEquals<ChangesBody>(mismatch)),
  names: typia.misc.literals<keyof ChangesBody>(),
}
export const setShape: BodyShape<SetOrIncrementBody> = {
  validate: validatorOf(typia.createAssertEquals<SetOrIncrementBody>(mismatch)),
  names: typia.misc.literals<keyof SetOrIncrementBody>(),
}
export const addAndSetShape: BodyShape<AddAndSetBody> = {
  validate: validatorOf(typia.createAssertEquals<AddAndSetBody>(mismatch)),
  names: typia.misc.literals<keyof AddAndSetBody>(),
}
export const addShape: BodyShape<AddBody> = {
  validate: validatorOf(typia.createAssertEquals<AddBody>(mismatch)),
  names: typia.misc.literals<keyof AddBody>(),
}
export const removeShape: BodyShape<RemoveBody> = {
  validate: validatorOf(typia.createAssertEquals<RemoveBody>(mismatch)),
  names: typia.misc.literals<keyof RemoveBody>(),
}

/** A batch, and its operations by their `op`. */
export const batchShape: BodyShape<UncheckedBatch> = {
  validate: validatorOf(typia.createAssertEquals<UncheckedBatch>(mismatch)),
  names: typia.misc.literals<keyof UncheckedBatch>(),
}
export const operationShapes = {
  set: {
    validate: validatorOf(typia.createAssertEquals<SetOrIncrementOperation>(mismatch)),
    names: typia.misc.literals<keyof SetOrIncrementOperation>(),
  } satisfies BodyShape<SetOrIncrementOperation>,
  increment: {
    validate: validatorOf(typia.createAssertEquals<IncrementOperation>(mismatch)),
    names: typia.misc.literals<keyof IncrementOperation>(),
  } satisfies BodyShape<IncrementOperation>,
  addAndSet: {
    validate: validatorOf(typia.createAssertEquals<AddAndSetOperation>(mismatch)),
    names: typia.misc.literals<keyof AddAndSetOperation>(),
  } satisfies BodyShape<AddAndSetOperation>,
  add: {
    validate: validatorOf(typia.createAssertEquals<AddOperation>(mismatch)),
    names: typia.misc.literals<keyof AddOperation>(),
  } satisfies BodyShape<AddOperation>,
  remove: {
    validate: validatorOf(typia.createAssertEquals<RemoveOperation>(mismatch)),
    names: typia.misc.literals<keyof RemoveOperation>(),
  } satisfies BodyShape<RemoveOperation>,
}

/** The most names that an object of a request can have. */
export const bodyNamesMax: number = Math.max(
  ...[
    fetchShape,
    changesShape,
    setShape,
    addAndSetShape,
    addShape,
    removeShape,
    batchShape,
    ...Object.values(operationShapes),
  ].map(({ names }) => names.length),
)

/** The JSON schemas of request bodies, by the names of their types. */
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

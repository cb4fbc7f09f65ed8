/**
 * Everything that typia generates, and the only file that imports it: the validators of what comes from outside, and
 * the schemas of the API description.
 *
 * The types stay in the layers that own them. This file sits below all layers: any of them may load it, and it loads
 * none, since its imports of their types are erased at compile time. Bounds that TypeScript cannot express are tags in
 * the comments of those types (`@type uint32`, `@minimum 1`, `@pattern …`), so that no other file depends on typia.
 */
import typia, { type IValidation, type TypeGuardError } from 'typia'
import type {
  AddAnswer,
  BatchAnswer,
  CountAnswer,
  ErrorAnswer,
  FetchItem,
  FetchPage,
  RemoveAnswer,
  SetAnswer,
} from './api/answers.js'
import type {
  AddAndSetBody,
  AddAndSetOperation,
  AddBody,
  AddOperation,
  BatchBody,
  FetchBody,
  FetchByPath,
  FetchBySelector,
  RemoveBody,
  RemoveByPath,
  RemoveBySelector,
  RemoveOperation,
  SetBody,
  SetOperation,
  UncheckedBatch,
} from './api/bodies/bodies.js'
import type { AnswerLine, ErrorLine, KeyAnswerText, Reloaded, RequestText } from './cluster/control/messages.js'
import type { EndLine, KeyLine, TopicLine } from './tools/export-format.js'
import type { BackupLine, CheckLine, ImportedLine, ProgressLine } from './tools/tool-messages.js'

/**
 * What a validator found wrong: where, and what it expected there, which is the text 'undefined' for an unknown member.
 */
export type ValidationError = IValidation.IError

/** What a validator says of an input: that it is of the shape, or the first thing that is wrong with it. */
type Validation<Body> =
  | { readonly success: true; readonly data: Body }
  | { readonly success: false; readonly error: ValidationError }

/** The shape of a JSON object, for api/bodies/parse-body.ts: its validator, and the names of its members. */
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

const mismatch = (found: TypeGuardError.IProps): Mismatch => new Mismatch(found)

/** A validator that stops at the first error: a body can have 100,000, and a refusal names one. */
function validatorOf<Body>(assertShape: (input: unknown) => Body): BodyShape<Body>['validate'] {
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
export const setShape: BodyShape<SetBody> = {
  validate: validatorOf(typia.createAssertEquals<SetBody>(mismatch)),
  names: typia.misc.literals<keyof SetBody>(),
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
    validate: validatorOf(typia.createAssertEquals<SetOperation>(mismatch)),
    names: typia.misc.literals<keyof SetOperation>(),
  } satisfies BodyShape<SetOperation>,
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
  ...[fetchShape, setShape, addAndSetShape, addShape, removeShape, batchShape, ...Object.values(operationShapes)].map(
    ({ names }) => names.length,
  ),
)

/** The lines of an import. */
export const topicLineShape: BodyShape<TopicLine> = {
  validate: validatorOf(typia.createAssertEquals<TopicLine>(mismatch)),
  names: typia.misc.literals<keyof TopicLine>(),
}
export const keyLineShape: BodyShape<KeyLine> = {
  validate: validatorOf(typia.createAssertEquals<KeyLine>(mismatch)),
  names: typia.misc.literals<keyof KeyLine['key']>().map((name) => `key.${name}`),
  isNested: true,
}
export const endLineShape: BodyShape<EndLine> = {
  validate: validatorOf(typia.createAssertEquals<EndLine>(mismatch)),
  names: typia.misc.literals<keyof EndLine['end']>().map((name) => `end.${name}`),
  isNested: true,
}

/** A request on the control socket. */
export const validateControlRequest: (input: unknown) => IValidation<RequestText> =
  typia.createValidateEquals<RequestText>()

/** What the service sends over the control socket. */
export const isErrorLine: (input: unknown) => input is ErrorLine = typia.createIs<ErrorLine>()
export const isAnswerLine: (input: unknown) => input is AnswerLine = typia.createIs<AnswerLine>()
export const isReloaded: (input: unknown) => input is Reloaded = typia.createIs<Reloaded>()
export const isKeyAnswer: (input: unknown) => input is KeyAnswerText = typia.createIs<KeyAnswerText>()
export const isBackupLine: (input: unknown) => input is BackupLine = typia.createIs<BackupLine>()
export const isCheckLine: (input: unknown) => input is CheckLine = typia.createIs<CheckLine>()
export const isImportedLine: (input: unknown) => input is ImportedLine = typia.createIs<ImportedLine>()
export const isProgressLine: (input: unknown) => input is ProgressLine = typia.createIs<ProgressLine>()

/** The JSON schemas of request bodies, by the names of their types. */
export const requestSchemas: object | undefined = typia.json.schemas<
  [FetchByPath, FetchBySelector, SetBody, AddAndSetBody, AddBody, RemoveByPath, RemoveBySelector, BatchBody],
  '3.1'
>().components.schemas

/** The JSON schemas of answers, by the names of their types. */
export const answerSchemas: object | undefined = typia.json.schemas<
  [FetchItem, FetchPage, CountAnswer, SetAnswer, AddAnswer, RemoveAnswer, BatchAnswer, ErrorAnswer],
  '3.1'
>().components.schemas

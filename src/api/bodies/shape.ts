/**
 * The members that an object may have, in a request or in a line of an export: from the schemas that typia generates from the
 * types, and nothing is said twice. read-object.ts reads by it. Nothing here looks at a text.
 */

/** A JSON schema, as far as typia uses it for the types of requests. */
interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly const?: unknown
  readonly oneOf?: readonly Schema[]
  readonly properties?: Schemas
  readonly required?: readonly string[]
  readonly additionalProperties?: unknown
  readonly items?: Schema
  readonly minimum?: number
  readonly maximum?: number
  readonly pattern?: string
}

type Schemas = Readonly<Record<string, Schema>>

/** As typia generates it: a reference to each type, and the schemas that these need, by name. */
export interface SchemaCollection {
  readonly schemas: readonly object[]
  readonly components: { readonly schemas?: object }
}

/** `allowed` is worded for messages. */
export type Member = { readonly allowed: string } & (
  | { readonly kind: 'number' | 'properties' | 'value' }
  | { readonly kind: 'string'; readonly pattern: RegExp | undefined }
  | { readonly kind: 'constant'; readonly constants: readonly unknown[] }
  | { readonly kind: 'integer'; readonly min: number; readonly max: number }
  | { readonly kind: 'object'; readonly shape: Shape }
  | { readonly kind: 'array'; readonly elements: Member }
)

/** `_Body` is the type that is read. */
export interface Shape<_Body = unknown> {
  readonly members: ReadonlyMap<string, Member>
  /** Except a value: the other faults of an operation precede a missing one. */
  readonly required: readonly string[]
  /** Members that an object may have besides these when it is read, but not when it is checked. */
  readonly foreign: readonly string[]
}

/** Applies to a type without its own bound. */
const integerMax = 2 ** 32 - 1

function typeNames({ schemas }: SchemaCollection): readonly string[] {
  return (schemas as readonly Schema[]).map(({ $ref = '' }) => $ref.slice($ref.lastIndexOf('/') + 1))
}

/** Has the members of all types; required are those that all require. @param names by default, all in the collection */
export function shapeOf<Body>(collection: SchemaCollection, names = typeNames(collection)): Shape<Body> {
  const all = collection.components.schemas as Schemas
  return mergedShape(
    names.map((name) => all[name] as Schema),
    all,
  )
}

/**
 * The shapes of objects whose `op` tells what they may have. As it may come last, an object is read as any of them, and then
 * checked by its own shape.
 */
export function shapesByOp(collection: SchemaCollection): { readonly any: Shape; of(op: unknown): Shape } {
  const all = collection.components.schemas as Schemas
  const opsOf = (type: string): readonly unknown[] =>
    [all[type]?.properties?.op].flatMap((op) => op?.oneOf ?? op ?? []).map((op) => op.const)
  const types = Object.keys(all).filter((type) => opsOf(type).length > 0)
  const any = shapeOf(collection, types)
  const shapes = types.flatMap(opsOf).map((op): [unknown, Shape] => {
    const ofOp = types.filter((type) => opsOf(type).includes(op))
    const shape = shapeOf(collection, ofOp)
    return [op, { ...shape, foreign: [...any.members.keys()].filter((name) => !shape.members.has(name)) }]
  })
  const byOp = new Map(shapes)
  return { any, of: (op) => byOp.get(op) ?? any }
}

function mergedShape(schemas: readonly Schema[], all: Schemas): Shape {
  const members = new Map<string, Schema[]>()
  for (const { properties = {} } of schemas)
    for (const [name, member] of Object.entries(properties)) members.set(name, [...(members.get(name) ?? []), member])
  const isRequired = (name: string): boolean =>
    name !== 'value' && schemas.every(({ required = [] }) => required.includes(name))
  return {
    members: new Map([...members].map(([name, alternatives]) => [name, memberOf(alternatives, all)])),
    required: [...members.keys()].filter(isRequired),
    foreign: [],
  }
}

/** If types allow different constants, the member may have any. */
function memberOf(alternatives: readonly Schema[], all: Schemas): Member {
  const schemas = alternatives.flatMap((schema) => schema.oneOf ?? schema).map((schema) => resolved(schema, all))
  if (schemas.every((schema) => 'const' in schema)) return constantOf(schemas.map((schema) => schema.const))
  const [schema = {}] = schemas
  const { minimum: min = 0, maximum: max = integerMax, pattern, items = {} } = schema
  switch (schema.type) {
    case undefined:
      return { kind: 'value', allowed: 'any JSON value' }
    case 'string':
      if (pattern === undefined) return { kind: 'string', pattern, allowed: 'a string' }
      return { kind: 'string', pattern: new RegExp(pattern), allowed: `a string that matches ${pattern}` }
    case 'integer':
      return { kind: 'integer', min, max, allowed: `an integer from ${min} to ${max}` }
    case 'number':
      return { kind: 'number', allowed: 'a number' }
    case 'boolean':
      return { kind: 'constant', constants: [true, false], allowed: 'true or false' }
    case 'array': {
      const elements = memberOf([items], all)
      return { kind: 'array', elements, allowed: elements.kind === 'string' ? 'an array of strings' : 'an array' }
    }
    case 'object':
      if ('additionalProperties' in schema)
        return { kind: 'properties', allowed: 'an object whose members are strings' }
      return { kind: 'object', shape: mergedShape(schemas, all), allowed: 'an object' }
    default:
      throw new Error(`no reader for the type ${schema.type}`)
  }
}

function resolved(schema: Schema, all: Schemas): Schema {
  return schema.$ref === undefined ? schema : (all[typeNames({ schemas: [schema], components: {} })[0] ?? ''] as Schema)
}

function constantOf(constants: readonly unknown[]): Member {
  const words = [...new Set(constants.map((constant) => JSON.stringify(constant)))].sort()
  const last = words.pop()
  return { kind: 'constant', constants, allowed: words.length === 0 ? `${last}` : `${words.join(', ')} or ${last}` }
}

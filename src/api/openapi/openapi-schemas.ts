/**
 * The schemas of the API description: the schemas of the routes' types, in the form that client tools expect. Only the bounds
 * that types cannot express are defined here.
 */
import { strict as assert } from 'node:assert'
import typia from 'typia'
import { tokenBytesMax } from '../../changes/token.js'
import {
  branchNumberMax,
  fetchPathsMax,
  pathBytesMax,
  propertiesBytesMax,
  propertiesMax,
  selectorBytesMax,
  valueLevelsMax,
} from '../../settings/limits.js'
import type { ErrorAnswer } from '../answers.js'
import type { SchemaCollection } from '../bodies/shape.js'
import { apiRoutes } from '../routes/routes.js'

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }
type JsonObject = { readonly [name: string]: Json }

function isObject(json: Json): json is JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}

/**
 * Converts a generated schema to the form that client tools expect. A choice between constants becomes one `enum`; any other
 * constant gets a type. `readOnly`, inherited from TypeScript, is removed because it would keep members out of requests.
 * Additional members are disallowed, as in the service.
 */
function toClientSchema(json: Json): Json {
  if (Array.isArray(json)) return json.map(toClientSchema)
  if (!isObject(json)) return json
  const { readOnly: _, required, oneOf, ...rest } = json
  const tidied: Record<string, Json> = Object.fromEntries(
    Object.entries(rest).map(([name, member]) => [name, toClientSchema(member)]),
  )
  if (Array.isArray(required) && required.length > 0) tidied.required = required
  if (Array.isArray(oneOf)) {
    const constants = oneOf.flatMap((choice: Json) => (isObject(choice) && 'const' in choice ? [choice.const] : []))
    if (constants.length === oneOf.length) Object.assign(tidied, { type: 'string', enum: constants.sort() })
    else tidied.oneOf = toClientSchema(oneOf)
  }
  if (json.const !== undefined && json.type === undefined) tidied.type = typeof json.const
  if (json.type === 'object' && !('additionalProperties' in json)) tidied.additionalProperties = false
  return tidied
}

export interface SettableBounds {
  readonly pageSizeMax: number
  readonly batchOperationsMax: number
}

/** Bounds for objects that must have exactly one of their members. */
const oneMember: Readonly<Record<string, JsonObject>> = { ConstraintBody: { minProperties: 1, maxProperties: 1 } }

/**
 * The bounds of a request's members that types cannot express. Limits in bytes of UTF-8 are in the descriptions. So are
 * defaults, because generators assume that a member with a `default` is always present.
 */
function boundsByName({ pageSizeMax, batchOperationsMax }: SettableBounds): Readonly<Record<string, JsonObject>> {
  const slashes = 'one leading and one trailing slash are ignored'
  // `maxLength` is in characters; the dropped slashes do not count towards the bytes.
  const path = {
    minLength: 1,
    maxLength: pathBytesMax + 2,
    description: `At most ${pathBytesMax} bytes of UTF-8; ${slashes}.`,
  }
  return {
    path,
    paths: {
      minItems: 1,
      maxItems: fetchPathsMax,
      items: { type: 'string', minLength: path.minLength, maxLength: path.maxLength },
    },
    after: path,
    selector: { minLength: 1, maxLength: selectorBytesMax, description: `At most ${selectorBytesMax} bytes of UTF-8.` },
    size: { maximum: pageSizeMax, description: 'The maximum is a setting.' },
    deep_branch_depth: { maximum: branchNumberMax },
    deep_branch_limit: { maximum: branchNumberMax },
    value: {
      description: `At most ${valueLevelsMax} levels of arrays and objects. The text is stored as sent, except for tabs and line breaks between tokens.`,
    },
    properties: {
      description: `At most ${propertiesMax} properties, with at most ${propertiesBytesMax} bytes of UTF-8 in total.`,
    },
    operations: { minItems: 1, maxItems: batchOperationsMax, description: 'The maximum is a setting.' },
    since: { minLength: 1, maxLength: tokenBytesMax },
  }
}

export function describeSchemas(settable: SettableBounds): object {
  const bounds = boundsByName(settable)
  const bounded = Object.entries(tidied(apiRoutes.map(({ bodies }) => bodies))).map(([name, schema]) => {
    const members = Object.entries(schema.properties as Record<string, JsonObject>).map(([member, described]) => {
      const { description = '', ...bound } = bounds[member] ?? {}
      return [
        member,
        { ...described, ...bound, description: `${described.description} ${description}`.trim() },
      ] as const
    })
    return [name, { ...schema, ...oneMember[name], properties: Object.fromEntries(members) }] as const
  })
  const answers = [...apiRoutes.map(({ answers }) => answers), typia.json.schemas<[ErrorAnswer], '3.1'>()]
  return { ...Object.fromEntries(bounded), ...tidied(answers) }
}

function tidied(collections: readonly SchemaCollection[]): Record<string, JsonObject> {
  const schemas: Record<string, Json> = {}
  for (const { components } of collections) {
    for (const [name, schema] of Object.entries(components.schemas ?? {})) {
      const json = JSON.parse(JSON.stringify(schema)) as Json
      assert.deepEqual(schemas[name] ?? json, json, `two types have the name ${name}`)
      schemas[name] = json
    }
  }
  return toClientSchema(schemas) as Record<string, JsonObject>
}

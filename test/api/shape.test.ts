/** Bodies are read as their JSON schemas specify: an independent schema validator accepts the same bodies. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { readBody } from '../../dist/api/bodies/read-object.js'
import { type SchemaCollection, type Shape, shapeOf } from '../../dist/api/bodies/shape.js'
import { bodySchemas, shapes } from '../../dist/api/bodies/shapes.js'
import { isProblem } from '../../dist/api/problems.js'
import { seededRandom } from '../support/random.js'

interface Schema {
  readonly properties: Readonly<Record<string, object>>
  readonly required: readonly string[]
}

const schemas = Object.assign(
  {},
  ...Object.values(bodySchemas).map(({ components }: SchemaCollection) => components.schemas),
) as Readonly<Record<string, Schema>>

/** The generated schemas, closed to additional members. */
const closed = Object.fromEntries(
  Object.entries(schemas).map(([name, schema]) => [
    name,
    name === 'Properties' ? schema : { ...schema, additionalProperties: false },
  ]),
)

/** The schema of a body of any of these types: it has the members of all and requires those that all require. */
function merged(names: readonly string[]): object {
  const all = names.map((name) => schemas[name] as Schema)
  const required = (all[0]?.required ?? []).filter((name) => all.every((schema) => schema.required.includes(name)))
  const properties = Object.assign({}, ...all.map((schema) => schema.properties)) as object
  // A missing value is reported later.
  return {
    type: 'object',
    properties,
    required: required.filter((name) => name !== 'value'),
    additionalProperties: false,
  }
}

function namesIn({ schemas }: SchemaCollection): readonly string[] {
  return (schemas as readonly { readonly $ref: string }[]).map(({ $ref }) => $ref.replace('#/components/schemas/', ''))
}

/** Batches are validated operation by operation (api/batch-bodies). */
const namesOfPlain = ['fetch', 'changes', 'set', 'addAndSet', 'add', 'remove'] as const

const bodies: Readonly<Record<string, readonly [Shape, readonly string[]]>> = {
  ...Object.fromEntries(namesOfPlain.map((name) => [name, [shapes[name], namesIn(bodySchemas[name])]])),
  constraint: [shapeOf(bodySchemas.set, ['ConstraintBody']), ['ConstraintBody']],
}

const texts = [
  ...['"a"', '"json"', '"string"', '"any"', '""', '0', '1', '-1', '7', '50', '51', '1.5', '4294967295'],
  ...[
    'true',
    'false',
    'null',
    '[]',
    '["a"]',
    '["a",1]',
    '{}',
    '{"a":"b"}',
    '{"a":1}',
    '{"version":1}',
    '{"no_topic":true}',
  ],
  ...['{"no_topic":false}', '{"version":-1}', '{"value":[1]}', '{"other":1}'],
]

for (const [body, [shape, types]] of Object.entries(bodies)) {
  t.test(`a body of ${body} is accepted if and only if the schema accepts it`, (t) => {
    const { pick, below } = seededRandom(t)
    const ajv = new Ajv2020({ strict: false })
    ajv.addSchema({ $id: '/api', components: { schemas: { ...closed, Body: merged(types) } } })
    const validate = ajv.compile({ $ref: '/api#/components/schemas/Body' })
    const names = [...shape.members.keys(), 'other']
    let accepted = 0
    for (let round = 0; round < 20_000; round++) {
      const members = new Map(Array.from({ length: below(4) }, () => [pick(names), pick(texts)]))
      const required = round % 2 === 0 ? shape.required : []
      for (const name of required) if (!members.has(name)) members.set(name, pick(['"a"', '1', '[]']))
      const text = `{${[...members].map(([name, value]) => `"${name}":${value}`).join()}}`
      const isValid = validate(JSON.parse(text)) as boolean
      if (isValid === isProblem(readBody(Buffer.from(text), shape)))
        t.fail(`${text}: ${isValid ? 'refused' : 'accepted'}`)
      if (isValid) accepted++
    }
    t.ok(accepted > 100, `${accepted} were accepted`)
    t.end()
  })
}

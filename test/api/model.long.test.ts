/**
 * Random requests to the service and to the model; every response is compared byte for byte. Only the service chooses versions:
 * after each change the model learns the topic's version, which must be greater than all earlier ones at its path.
 *
 * Requests run one at a time, each over the next of many connections, so that the workers take turns and each must see the
 * others' writes. `SEED=<number>` replays a run.
 */
import t from 'tap'
import { bodyText, type Members, Model, type TopicType } from '../support/models/model.js'
import { randomPath, randomSelector } from '../support/models/selectors.js'
import { type Random, seededRandom } from '../support/random.js'
import { overStores } from '../support/service/over-stores.js'

const requests = 2000

const values = ['1', '1.10', '-0', '"x"', '"\\u0041"', 'null', '[]', '{"a":1,"a":2}', '12345678901234567890']
const strings = ['"x"', '""', '"\\ud800"', '"é"']
const properties: readonly Readonly<Record<string, string>>[] = [
  {},
  { VALIDATE_VALUES: 'true' },
  { VALIDATE_VALUES: 'false' },
  { DONT_RETAIN_VALUE: 'true' },
  { colour: 'green' },
]

await overStores(t, async (t, { post }) => {
  await t.test(`${requests} random requests get the same responses from the service and the model`, async (t) => {
    const random = seededRandom(t)
    const model = new Model()
    const counts = { held: 0, refused: 0 }
    for (let i = 0; i < requests; i++) {
      const [route, members] = randomRequest(random, model)
      const body = bodyText(members)
      const { status, text, code } = await post(route, body)
      const { version: told } = route === 'fetch' ? {} : (JSON.parse(text) as { version?: number })
      const expected = model.perform(route, members, told)
      const found = status === 200 ? { status, text } : { status, code }
      if (JSON.stringify(found) !== JSON.stringify(expected)) {
        t.strictSame(found, expected, `request ${i}, ${route} of ${body}`)
        return
      }
      if (members.constraint !== undefined) counts[status === 409 ? 'refused' : 'held']++
      const changed = model.changed()
      const { path = '' } = members
      if (route === 'remove' && told !== undefined) model.learn(path.replace(/^\/|\/$/g, ''), told)
      if (changed === undefined) continue
      const { text: item } = await post('fetch', { path: changed, type: 'any', with_values: false, with_version: true })
      const { version } = JSON.parse(item) as { version: number }
      const isTold = told === undefined || told === version
      const wrong = isTold ? model.learn(changed, version) : `the write returned ${told}, the topic has ${version}`
      if (wrong !== undefined) return void t.fail(`request ${i}, ${route} of ${body}: ${wrong}`)
    }
    t.ok(model.topics.size > 0, `${model.topics.size} topics at the end`)
    t.ok(counts.held > 50 && counts.refused > 50, `constraints: ${counts.held} held, ${counts.refused} did not`)
  })
})

function randomRequest(random: Random, model: Model): [route: string, members: Members] {
  const type: TopicType | undefined = random.oneIn(3) ? random.pick(['json', 'string']) : undefined
  const value = random.pick(type === 'string' ? strings : values)
  const known = [...model.topics.keys()]
  const plainPath = known.length > 0 && random.oneIn(2) ? random.pick(known) : randomPath(random)
  const path = random.oneIn(20) ? `/${plainPath}/` : plainPath
  const with_version = random.oneIn(2) ? random.oneIn(2) : undefined
  const constraint = random.oneIn(3) ? { version: randomVersion(random, model, plainPath) } : undefined
  switch (random.below(10)) {
    case 0:
    case 1:
      return [
        'add',
        given({
          path,
          type,
          properties: random.oneIn(3) ? random.pick(properties) : undefined,
          constraint,
          with_version,
        }),
      ]
    case 2:
    case 3:
      return [
        'addAndSet',
        given({
          path,
          value,
          type,
          properties: random.oneIn(3) ? random.pick(properties) : undefined,
          constraint,
          with_version,
        }),
      ]
    case 4:
      return ['set', given({ path, value, type, constraint, with_version })]
    case 5:
      return ['fetch', given({ path, type, ...randomForm(random) })]
    case 6:
      return ['remove', given({ path, constraint, with_version })]
    case 7:
      // Rare; otherwise the tree would never grow.
      return random.oneIn(10) ? ['remove', { selector: randomSelector(random) }] : ['add', given({ path, type })]
    default: {
      const after = random.oneIn(2) ? randomPath(random) : undefined
      const size = random.oneIn(2) ? random.pick([1, 2, 3, 50, 1000]) : undefined
      const branches = random.oneIn(3)
        ? { deep_branch_depth: 1 + random.below(4), deep_branch_limit: random.below(4) }
        : {}
      return [
        'fetch',
        given({ selector: randomSelector(random), type, size, after, ...branches, ...randomForm(random) }),
      ]
    }
  }
}

/** Members that change the items of a fetch and their contents; none half of the time. */
function randomForm(random: Random): Members {
  if (random.oneIn(2)) return {}
  return {
    ...(random.oneIn(2) ? { type: random.pick(['json', 'string', 'any']) } : {}),
    ...(random.oneIn(2) ? { with_values: random.oneIn(2) } : {}),
    ...(random.oneIn(2) ? { with_properties: random.oneIn(2) } : {}),
    ...(random.oneIn(2) ? { with_version: random.oneIn(2) } : {}),
  }
}

/** A version for a constraint on the topic at this path: usually one that the topic has or had. */
function randomVersion(random: Random, model: Model, path: string): number {
  const former = model.versions.get(path) ?? []
  const current = model.topics.get(path)?.version ?? former.at(-1) ?? 0
  if (random.oneIn(2)) return current
  return random.pick([...former, current - 1, current + 1, 0].filter((version) => version >= 0))
}

/** The members that are not undefined. */
function given(members: { readonly [name in keyof Members]: Members[name] | undefined }): Members {
  return Object.fromEntries(Object.entries(members).filter(([, member]) => member !== undefined)) as Members
}

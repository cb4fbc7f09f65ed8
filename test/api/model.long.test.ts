/**
 * Random requests to the service and the model, every answer compared byte for byte.
 *
 * One request at a time, each over the next of many connections, so that the workers take turns and each has to see
 * what the others wrote. `SEED=<number>` replays a run.
 */
import t from 'tap'
import { bodyText, type Members, Model, type TopicType } from '../support/models/model.js'
import { type Random, seededRandom } from '../support/random.js'
import { overWorkers } from '../support/service/over-stores.js'

const requests = 3000

/** Few segments, so that paths often collide; some characters sort before a slash, some are syntax in patterns. */
const segments = ['a', 'b', 'ab', 'a-b', 'a!', 'a.b', 'a+b', 'é', 'A', ' ']
const values = ['1', '1.10', '-0', '"x"', '"\\u0041"', 'null', '[]', '{"a":1,"a":2}', '12345678901234567890']
const strings = ['"x"', '""', '"\\ud800"', '"é"']
const properties: readonly Readonly<Record<string, string>>[] = [
  {},
  { VALIDATE_VALUES: 'true' },
  { VALIDATE_VALUES: 'false' },
  { DONT_RETAIN_VALUE: 'true' },
  { colour: 'green' },
]
const patterns = ['.*', 'a', 'a.*', '[ab]+', 'a|b', '.', 'a\\.b', '[^a]', '(ab?)+', 'A?']

await overWorkers(t, async (t, { post }) => {
  await t.test(`${requests} random requests are answered as the model answers them`, async (t) => {
    const random = seededRandom(t)
    const model = new Model()
    for (let i = 0; i < requests; i++) {
      const [route, members] = randomRequest(random)
      const body = bodyText(members)
      const { status, text, code } = await post(route, body)
      const expected = model.perform(route, members)
      const found = status === 200 ? { status, text } : { status, code }
      if (JSON.stringify(found) !== JSON.stringify(expected)) {
        t.strictSame(found, expected, `request ${i}, ${route} of ${body}`)
        return
      }
    }
    t.ok(model.topics.size > 0, `${model.topics.size} topics in the end`)
  })

  await t.test('a topic that only the model has makes the answers differ', async (t) => {
    const model = new Model()
    model.perform('add', { path: 'never/added' })
    const { text } = await post('fetch', { selector: '*never//' })
    t.notSame({ status: 200, text }, model.perform('fetch', { selector: '*never//' }))
  })
})

function randomRequest(random: Random): [route: string, members: Members] {
  const type: TopicType | undefined = random.oneIn(3) ? random.pick(['json', 'string']) : undefined
  const value = random.pick(type === 'string' ? strings : values)
  const path = random.oneIn(20) ? `/${randomPath(random)}/` : randomPath(random)
  switch (random.below(10)) {
    case 0:
    case 1:
      return ['add', given({ path, type, properties: random.oneIn(3) ? random.pick(properties) : undefined })]
    case 2:
    case 3:
      return [
        'addAndSet',
        given({ path, value, type, properties: random.oneIn(3) ? random.pick(properties) : undefined }),
      ]
    case 4:
      return ['set', given({ path, value, type })]
    case 5:
      return ['fetch', given({ path, type, ...randomForm(random) })]
    case 6:
      return ['remove', { path }]
    case 7:
      // Rare, or the tree would never grow.
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

/** Members that change which items a fetch gives, and what they show; none half of the time. */
function randomForm(random: Random): Members {
  if (random.oneIn(2)) return {}
  return {
    ...(random.oneIn(2) ? { type: random.pick(['json', 'string', 'any']) } : {}),
    ...(random.oneIn(2) ? { with_values: random.oneIn(2) } : {}),
    ...(random.oneIn(2) ? { with_properties: random.oneIn(2) } : {}),
  }
}

/** The members without those that are undefined. */
function given(members: { readonly [name in keyof Members]: Members[name] | undefined }): Members {
  return Object.fromEntries(Object.entries(members).filter(([, member]) => member !== undefined)) as Members
}

function randomPath(random: Random): string {
  return Array.from({ length: 1 + random.below(4) }, () => random.pick(segments)).join('/')
}

function randomSelector(random: Random): string {
  const qualifier = random.pick(['', '/', '//'])
  switch (random.below(7)) {
    case 0:
      return randomPath(random)
    case 1:
      return `>${randomPath(random)}`
    case 2:
    case 3:
      return `?${Array.from({ length: 1 + random.below(3) }, () => random.pick(patterns)).join('/')}${qualifier}`
    case 4:
      return `*${random.pick(patterns)}${qualifier}`
    case 5:
      // A plain path, whose dot and plus are taken literally as well.
      return `*${randomPath(random)}//`
    default:
      return `#${Array.from({ length: 1 + random.below(3) }, () => `>${randomPath(random)}`).join('////')}`
  }
}

/** Topic properties over the routes: which are rejected, which match an existing topic, and their effects. */
import t from 'tap'
import { propertiesMax } from '../../dist/settings/limits.js'
import { answers, type Row } from '../support/expected-answers.js'
import { overStores } from '../support/service/over-stores.js'

const created = (path: string): string => `{"path":"${path}","created":true}`
const existed = (path: string): string => `{"path":"${path}","created":false}`

await overStores(t, async (t, { post }) => {
  const inTurn = (name: string, rows: readonly Row[]) => t.test(name, (t) => answers(t, post, rows))

  const accepted = [
    {},
    { VALIDATE_VALUES: 'true' },
    { DONT_RETAIN_VALUE: 'true', VALIDATE_VALUES: 'false' },
    { colour: 'green', 'x y é 😀': '\0', '': 'nameless' },
    { validate_values: 'maybe', removal: 'never' },
    { REMOVAL: 'when no updates for 10m' },
    { REMOVAL: "when time after 9999999999999 remove 'not yet known to be a selector ('" },
  ]
  await inTurn('known properties accept only their own values, and any other name accepts any value', [
    ...accepted.flatMap((properties, i): Row[] => [
      ['add', { path: `taken/add${i}`, properties }, created(`taken/add${i}`)],
      ['addAndSet', { path: `taken/set${i}`, value: 1, properties }, created(`taken/set${i}`)],
    ]),
  ])

  const proto = '{"path":"proto","value":1,"properties":{"__proto__":"x","constructor":"y","toString":"z"}}'
  await inTurn('names that JavaScript objects inherit are ordinary names', [
    ['addAndSet', proto, created('proto')],
    ['addAndSet', proto, existed('proto')],
    ['addAndSet', proto.replace('"x"', '"other"'), 'incompatible_properties', '"proto"'],
    ['addAndSet', { path: 'proto', value: 1, properties: { valueOf: 'x' } }, 'incompatible_properties', '"proto"'],
  ])

  const short = 'when no updates for 15m'
  await inTurn('ttl is short for a REMOVAL, and is compared and shown as one', [
    ['add', { path: 'brief', ttl: '15m' }, created('brief')],
    ['addAndSet', { path: 'brief', value: 1, properties: { REMOVAL: short } }, existed('brief')],
    ['addAndSet', { path: 'brief', value: 1, ttl: '15m', properties: { VALIDATE_VALUES: 'false' } }, existed('brief')],
    ['addAndSet', { path: 'brief', value: 1, ttl: '16m' }, 'incompatible_properties', '"brief"'],
    [
      'fetch',
      { path: 'brief', with_properties: true },
      `{"path":"brief","type":"json","value":1,"properties":{"REMOVAL":"${short}"}}`,
    ],
    ['batch', { operations: [{ op: 'add', path: 'brief/2', ttl: '1s' }] }, `{"results":[${created('brief/2')}]}`],
  ])

  await inTurn('a ttl that is not a period or is given with a REMOVAL is rejected', [
    ...['', '15', '15M', '15 m', '0s', '36501d', '1.5h', '-1m', "15m remove '*x//'"].flatMap((ttl): Row[] => [
      ['add', { path: 'no', ttl }, 'invalid_parameter', 'Parameter "ttl" must be a period', 'from 1s to 36500d'],
      ['addAndSet', { path: 'no', value: 1, ttl }, 'invalid_parameter', '"ttl"'],
    ]),
    ['add', { path: 'no', ttl: 15 }, 'invalid_parameter', '"ttl"', 'a string'],
    ['add', { path: 'no', ttl: '15m', properties: { REMOVAL: short } }, 'invalid_parameter', '"REMOVAL"'],
    ['set', { path: 'no', value: 1, ttl: '15m' }, 'unknown_parameter', '"ttl"'],
    ['fetch', { path: 'no' }, 'no_such_topic', '"no"'],
  ])

  const malformed = [
    ...['yes', 'TRUE', '', ' true', '1'].map(
      (value) => ['VALIDATE_VALUES', value, 'must be "true" or "false"'] as const,
    ),
    ['DONT_RETAIN_VALUE', 'null', 'must be "true" or "false"'],
    ['REMOVAL', '', 'expected "when"'],
    ['REMOVAL', 'when this session closes', 'are not supported'],
  ] as const
  await inTurn('the error for a malformed known property names it, and nothing is created', [
    ...malformed.flatMap(([name, value, problem]): Row[] => [
      ['add', { path: 'no', properties: { other: 'x', [name]: value } }, 'invalid_property', `"${name}"`, problem],
      ['addAndSet', { path: 'no', value: 1, properties: { [name]: value } }, 'invalid_property', `"${name}"`, problem],
    ]),
    ['fetch', { path: 'no' }, 'no_such_topic', '"no"'],
  ])

  const named = (count: number): object =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`é${index}`, 'x']))
  await t.test(`a topic has at most ${propertiesMax} properties`, async (t) => {
    const said = `"é${propertiesMax}" exceeds the limit`
    const tooMany = [propertiesMax + 1, 5000].map(named)
    await answers(t, post, [
      ['add', { path: 'many', properties: named(propertiesMax) }, created('many')],
      [
        'add',
        { path: 'no', properties: named(propertiesMax), ttl: '1h' },
        'invalid_property',
        '"REMOVAL" exceeds the limit',
      ],
      ...tooMany.flatMap((properties): Row[] => [
        ['add', { path: 'no', properties }, 'invalid_property', said],
        ['addAndSet', { path: 'many', value: 1, properties }, 'invalid_property', said],
      ]),
      ['fetch', { path: 'no' }, 'no_such_topic', '"no"'],
    ])
    const batch = await post('batch', { operations: [{ op: 'add', path: 'no', properties: tooMany[0] }] })
    t.match([batch.code, batch.message], ['invalid_property', said], 'in a batch')
  })

  const minutes = { REMOVAL: 'when no updates for 10m' }
  const pairs: readonly (readonly [has: object, compatible: readonly object[], incompatible: readonly object[]])[] = [
    [{}, [{}, { DONT_RETAIN_VALUE: 'false', VALIDATE_VALUES: 'false' }], [{ own: '' }, { own: 'false' }, minutes]],
    [{ VALIDATE_VALUES: 'true' }, [{}, { VALIDATE_VALUES: 'true' }], [{ VALIDATE_VALUES: 'false' }]],
    [{ DONT_RETAIN_VALUE: 'true' }, [{ DONT_RETAIN_VALUE: 'true' }], [{ DONT_RETAIN_VALUE: 'false' }]],
    [
      { own: 'x', other: 'y' },
      [{ other: 'y', own: 'x' }, { own: 'x' }, { own: 'x', VALIDATE_VALUES: 'false' }],
      [{ own: 'y' }, { own: 'X' }, { own: 'x', size: '1' }, { DONT_RETAIN_VALUE: 'true' }, minutes],
    ],
    [minutes, [minutes, {}], [{ REMOVAL: 'when no updates for 600s' }, { REMOVAL: 'When no updates for 10m' }]],
  ]
  await inTurn('addAndSet updates only a topic that has every named property', [
    ...pairs.flatMap(([has, compatible, incompatible], i): Row[] => [
      ['addAndSet', { path: `c/${i}`, value: 1, properties: has }, created(`c/${i}`)],
      ['add', { path: `c/${i}`, properties: { changed: 'not' } }, existed(`c/${i}`)],
      ...compatible.map(
        (properties): Row => ['addAndSet', { path: `c/${i}`, value: 2, properties }, existed(`c/${i}`)],
      ),
      ...incompatible.map((properties): Row => {
        return ['addAndSet', { path: `c/${i}`, value: 3, properties }, 'incompatible_properties', `"c/${i}"`]
      }),
    ]),
    ['fetch', { path: 'c/3' }, '{"path":"c/3","type":"json","value":2}'],
    ['addAndSet', { path: 'c/3', type: 'string', value: '', properties: { own: 'y' } }, 'incompatible_type', '"c/3"'],
    ['remove', { path: 'c/3' }, '{"removed":1}'],
    ['addAndSet', { path: 'c/3', value: 1, properties: { own: 'y' } }, created('c/3')],
  ])

  const properties = { DONT_RETAIN_VALUE: 'true' }
  await inTurn('a topic with DONT_RETAIN_VALUE accepts and validates values but keeps none', [
    ['addAndSet', { path: 'd', value: 1, properties }, created('d')],
    ['fetch', { path: 'd' }, '{"path":"d","type":"json"}'],
    ['set', { path: 'd', value: 2 }, '{"path":"d"}'],
    ['addAndSet', { path: 'd', value: 3 }, existed('d')],
    ['fetch', { path: 'd' }, '{"path":"d","type":"json"}'],
    ['fetch', { selector: '>d' }, '{"has_more":false,"results":[{"path":"d","type":"json"}]}'],
    ['add', { path: 'ds', type: 'string', properties }, created('ds')],
    ['set', { path: 'ds', type: 'string', value: 5 }, 'invalid_parameter', '"value"'],
    ['set', { path: 'ds', type: 'string', value: 'x' }, '{"path":"ds"}'],
    ['fetch', { path: 'ds', type: 'string' }, '{"path":"ds","type":"string"}'],
  ])
})

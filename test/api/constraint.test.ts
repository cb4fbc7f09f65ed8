/**
 * Constraints over HTTP: for each constraint, route and state of the topic, the response and the state afterwards.
 */
import t, { type Test } from 'tap'
import { answers, gives, type Row, refuses, refusesOperation } from '../support/expected-answers.js'
import type { Answer } from '../support/service/client.js'
import { overStores } from '../support/service/over-stores.js'
import type { Server } from '../support/service/server.js'

/** States of the path: no topic, a topic without a value, one with the value 1, or one with the value 2. */
type State = 'absent' | 'empty' | '1' | '2'

const states: readonly State[] = ['absent', 'empty', '1', '2']

const forms = { value: '{"value":1}', no_value: '{"no_value":true}', no_topic: '{"no_topic":true}' } as const

/** The state in which each constraint holds, and part of its message in the other states. */
const holdsIn: Readonly<Record<keyof typeof forms, readonly [State, contrary: string]>> = {
  value: ['1', 'no topic with that value'],
  no_value: ['empty', 'a topic with a value, or no topic'],
  no_topic: ['absent', 'a topic'],
}

/** The requests, each with its response and the resulting state where its constraint holds. */
const requests: readonly {
  readonly route: string
  readonly members: string
  readonly held: Readonly<Partial<Record<State, readonly [answer: string, after: State]>>>
}[] = [
  {
    route: 'set',
    members: '"value":2',
    held: { absent: ['no_such_topic', 'absent'], empty: ['{"path":"t"}', '2'], 1: ['{"path":"t"}', '2'] },
  },
  {
    route: 'addAndSet',
    members: '"value":2',
    held: {
      absent: ['{"path":"t","created":true}', '2'],
      empty: ['{"path":"t","created":false}', '2'],
      1: ['{"path":"t","created":false}', '2'],
    },
  },
  {
    route: 'add',
    members: '"type":"json"',
    held: {
      absent: ['{"path":"t","created":true}', 'empty'],
      empty: ['{"path":"t","created":false}', 'empty'],
      1: ['{"path":"t","created":false}', '1'],
    },
  },
  {
    route: 'remove',
    members: '',
    held: { absent: ['{"removed":0}', 'absent'], empty: ['{"removed":1}', 'absent'], 1: ['{"removed":1}', 'absent'] },
  },
  {
    route: 'remove',
    members: '"dry_run":true',
    held: { absent: ['{"removed":0}', 'absent'], empty: ['{"removed":1}', 'empty'], 1: ['{"removed":1}', '1'] },
  },
]

await overStores(t, async (t, server) => {
  const { post } = server
  await t.test('on every route, each constraint is satisfied only by the topic state that it requires', (t) =>
    table(t, server),
  )

  /** Uses a dry run of a removal to find out whether the topic has this value. */
  const is = async (value: string): Promise<boolean> => {
    const answer = await post('remove', `{"path":"v","constraint":{"value":${value}},"dry_run":true}`)
    if (answer.status !== 200 && answer.code !== 'unsatisfied_constraint') throw new Error(answer.text)
    return answer.status === 200
  }

  await t.test('a value constraint compares values as written, except for white space between tokens', async (t) => {
    const cases: readonly (readonly [stored: string, same: readonly string[], others: readonly string[]])[] = [
      ['1', ['1', ' 1 ', '\n1\t'], ['1.0', '10', '1e0', '"1"', 'null', '[1]']],
      ['12345678901234567890', ['12345678901234567890'], ['12345678901234567891', '12345678901234567000']],
      [
        '[ 1 ,\n{"a b" : [ ] } ]',
        ['[1,{"a b":[]}]', '[\r\n\t1,{"a b":[] }]'],
        ['[1,{"ab":[]}]', '[1,{"a  b":[]}]', '[1]'],
      ],
      ['{"a":1,"b":2}', ['{"a" :1, "b":2 }'], ['{"b":2,"a":1}', '{"a":1,"b":2,"a":1}']],
      ['"é"', ['"é"', ' "é"'], ['"\\u00e9"', '"e\u0301"', '"é "']],
      ['"a \\" b\\\\"', [' "a \\" b\\\\" '], ['"a \\"b\\\\"', '"a \\" b"', '"a \\u0022 b\\\\"']],
      ['null', ['null'], ['false', '"null"', '{}']],
    ]
    for (const [stored, same, others] of cases) {
      await post('addAndSet', `{"path":"v","value":${stored}}`)
      for (const value of [stored, ...same]) t.ok(await is(value), JSON.stringify(`${stored} is ${value}`))
      for (const value of others) t.notOk(await is(value), JSON.stringify(`${stored} is not ${value}`))
    }
  })

  const inTurn = (name: string, rows: readonly Row[]) => t.test(name, (t) => answers(t, post, rows))

  const z = { path: 's', type: 'string', value: 'z' }
  await inTurn('a constraint on a string is checked before the type', [
    ['addAndSet', { ...z, value: 'x y' }, '{"path":"s","created":true}'],
    ['set', { ...z, constraint: { value: 'xy' } }, 'unsatisfied_constraint'],
    ['set', { ...z, constraint: { value: 'x y' } }, '{"path":"s"}'],
    ['set', { ...z, constraint: { value: 'x y' } }, 'unsatisfied_constraint'],
    ['set', { path: 's', value: 1, constraint: { value: 'x y' } }, 'unsatisfied_constraint'],
    ['set', { path: 's', value: 1, constraint: { value: 'z' } }, 'incompatible_type'],
  ])

  await inTurn('a topic with DONT_RETAIN_VALUE never has a value', [
    ['addAndSet', { path: 'd', value: 1, properties: { DONT_RETAIN_VALUE: 'true' } }, '{"path":"d","created":true}'],
    ['set', { path: 'd', value: 2, constraint: { value: 1 } }, 'unsatisfied_constraint'],
    ['set', { path: 'd', value: 2, constraint: { no_value: true } }, '{"path":"d"}'],
    ['set', { path: 'd', value: 2, constraint: { value: 2 } }, 'unsatisfied_constraint'],
  ])

  const other = { path: 'p', value: 3, properties: { note: 'y' } }
  await inTurn('a constraint is checked before properties are compared', [
    ...[{ note: 'x' }, { REMOVAL: 'when no updates for 1d' }].flatMap((properties): Row[] => {
      const created = { path: 'p', value: 1, properties, constraint: { no_topic: true } }
      return [
        ['addAndSet', created, '{"path":"p","created":true}'],
        ['addAndSet', created, 'unsatisfied_constraint'],
        ['set', { path: 'p', value: 2, constraint: { value: 1 } }, '{"path":"p"}'],
        ['set', { path: 'p', value: 3, constraint: { value: 1 } }, 'unsatisfied_constraint'],
        ['addAndSet', { ...other, constraint: { value: 1 } }, 'unsatisfied_constraint'],
        ['addAndSet', { ...other, constraint: { value: 2 } }, 'incompatible_properties'],
        ['remove', { path: 'p' }, '{"removed":1}'],
      ]
    }),
  ])

  await t.test('a version constraint is met only by the version of the last change, which a fetch shows', async (t) => {
    const versionOf = async (path: string): Promise<number> => {
      const { text } = await post('fetch', { path, type: 'any', with_version: true })
      return (JSON.parse(text) as { version: number }).version
    }
    const said = 'there is no topic with that version; nothing was changed'
    const unsatisfied = (answer: Answer, expectation: string) =>
      refuses(t, answer, 409, 'unsatisfied_constraint', expectation, said)
    for (const properties of [{}, { DONT_RETAIN_VALUE: 'true' }, { REMOVAL: 'when no updates for 1d' }]) {
      await post('remove', { path: 'n' })
      for (const version of [0, 1, Number.MAX_SAFE_INTEGER]) {
        for (const { route, members } of requests) {
          const body = `{"path":"n","constraint":{"version":${version}}${members && `,${members}`}}`
          unsatisfied(await post(route, body), `${route} ${members} without a topic`)
        }
      }
      await post('add', { path: 'n', properties })
      const created = await versionOf('n')
      gives(t, await post('set', { path: 'n', value: 1, constraint: { version: created } }), '{"path":"n"}', 'set')
      unsatisfied(await post('set', { path: 'n', value: 2, constraint: { version: created } }), 'set again')
      const set = await versionOf('n')
      t.ok(set > created, 'a change has a greater version')
      for (const version of [set - 1, set + 1]) {
        for (const { route, members } of requests) {
          const body = `{"path":"n","constraint":{"version":${version}}${members && `,${members}`}}`
          unsatisfied(await post(route, body), `${route} ${members} with a version next to it`)
        }
      }
      const constraint = { version: set }
      const added = await post('add', { path: 'n', constraint })
      gives(t, added, '{"path":"n","created":false}', 'an add that changes nothing')
      t.equal(await versionOf('n'), set, 'the add leaves the version')
      gives(t, await post('remove', { path: 'n', constraint, dry_run: true }), '{"removed":1}', 'a dry run')
      const batch = (...operations: readonly object[]) => post('batch', { operations })
      const twice = await batch(
        { op: 'addAndSet', path: 'n', value: 3, constraint },
        { op: 'set', path: 'n', value: 4, constraint },
      )
      refusesOperation(t, twice, 409, 'unsatisfied_constraint', 1, 'changed by the same batch', 'that version')
      const recreated = await batch(
        { op: 'remove', path: 'n' },
        { op: 'add', path: 'n' },
        { op: 'remove', path: 'n', constraint },
      )
      refusesOperation(t, recreated, 409, 'unsatisfied_constraint', 2, 'created by the same batch', 'that version')
      t.equal(await versionOf('n'), set, 'nothing was changed')
      const updated = await batch(
        { op: 'add', path: 'n', constraint },
        { op: 'addAndSet', path: 'n', value: 5, constraint },
      )
      gives(t, updated, '{"results":[{"path":"n","created":false},{"path":"n","created":false}]}', 'in a batch')
      unsatisfied(await post('remove', { path: 'n', constraint }), 'after the batch')
      const last = { version: await versionOf('n') }
      gives(t, await post('remove', { path: 'n', constraint: last }), '{"removed":1}', 'removed')
      await post('addAndSet', { path: 'n', value: 5, properties })
      unsatisfied(await post('remove', { path: 'n', constraint: last }), 're-created')
    }
  })

  await t.test('exactly one of many writes with the same version constraint succeeds', async (t) => {
    await post('addAndSet', { path: 'n/once', value: 0 })
    const { text } = await post('fetch', { path: 'n/once', with_version: true })
    const { version } = JSON.parse(text) as { version: number }
    const body = { path: 'n/once', value: 1, constraint: { version } }
    const answers = await Promise.all(Array.from({ length: 50 }, () => post('set', body)))
    t.equal(answers.filter(({ status }) => status === 200).length, 1, 'one returns 200')
    t.equal(answers.filter(({ code }) => code === 'unsatisfied_constraint').length, 49, 'the others return 409')
  })

  await t.test('a malformed constraint is rejected on every route, and nothing is changed', async (t) => {
    const only = 'exactly one of "value", "version", "no_value" and "no_topic"'
    const members = '"constraint.no_topic", "constraint.no_value", "constraint.value", "constraint.version"'
    const malformed: readonly (readonly [constraint: string, code: string, ...mentions: readonly string[]])[] = [
      ['{}', 'invalid_parameter', '"constraint"', 'an object with 0 members', only],
      ['{"value":1,"no_value":true}', 'invalid_parameter', '"constraint"', 'an object with 2 members', only],
      ['{"no_topic":false}', 'invalid_parameter', '"constraint.no_topic"', 'the boolean false', 'true'],
      ['{"no_value":null}', 'invalid_parameter', '"constraint.no_value"', 'null'],
      ...['1.0', '1e3', '1E0', '-1', '-0', '0.5', '9007199254740992', '12345678901234567890', '1e400'].map(
        (number) =>
          [`{"version":${number}}`, 'invalid_parameter', '"constraint.version"', `the number ${number}`] as const,
      ),
      ['{"version":"1"}', 'invalid_parameter', '"constraint.version"', 'the string "1"', 'from 0 to 9007199254740991'],
      ['{"v\\u0065rsion":1.0}', 'invalid_parameter', '"constraint.version"', 'the number 1.0'],
      ['{"version":1,"version":1}', 'duplicate_parameter', '"constraint.version"'],
      ['null', 'invalid_parameter', '"constraint"', 'null', 'an object'],
      ['[]', 'invalid_parameter', '"constraint"', 'an array'],
      ['{"partial":{"a":1}}', 'unknown_parameter', 'partial', members],
      ['{"Value":1}', 'unknown_parameter', 'Value', members],
      ['{"value":1,"value":1}', 'duplicate_parameter', '"constraint.value"'],
      ['{"value":1,"v\\u0061lue":1}', 'duplicate_parameter', '"constraint.value"'],
    ]
    await post('addAndSet', { path: 't', value: 1 })
    for (const [constraint, code, ...mentions] of malformed) {
      for (const { route, members } of requests) {
        const body = `{"path":"t","constraint":${constraint}${members && `,${members}`}}`
        refuses(t, await post(route, body), 400, code, `${route} ${constraint}`, ...mentions)
      }
    }
    const twice = await post('set', '{"path":"t","value":2,"constraint":{"value":1},"constr\\u0061int":{"value":1}}')
    refuses(t, twice, 400, 'duplicate_parameter', 'two constraints', '"constraint"')
    for (const more of ['', ',"dry_run":true']) {
      const answer = await post('remove', `{"selector":"*t//","constraint":{"value":1}${more}}`)
      refuses(t, answer, 400, 'invalid_parameter', 'with a selector', '"constraint"', 'requires "path"')
    }
    const fetched = await post('fetch', { path: 't', constraint: { value: 1 } })
    refuses(t, fetched, 400, 'unknown_parameter', 'a fetch takes no constraint', '"constraint"')
    gives(t, await post('fetch', { path: 't' }), '{"path":"t","type":"json","value":1}', 'nothing was changed')
  })
})

/** Brings about each state and sends each request with each constraint, on its own and in a batch. */
async function table(t: Test, { post }: Server): Promise<void> {
  const bringAbout = async (state: State): Promise<void> => {
    await post('remove', { path: 't' })
    if (state === 'empty') await post('add', { path: 't' })
    else if (state !== 'absent') await post('addAndSet', `{"path":"t","value":${state}}`)
  }
  const found = async (): Promise<State> => {
    const { status, text } = await post('fetch', { path: 't' })
    if (status !== 200) return 'absent'
    return ((JSON.parse(text) as { value?: number }).value?.toString() ?? 'empty') as State
  }
  for (const form of Object.keys(forms) as (keyof typeof forms)[]) {
    const [holding, contrary] = holdsIn[form]
    for (const state of states) {
      for (const { route, members, held } of requests) {
        const body = `"path":"t","constraint":${forms[form]}${members && `,${members}`}`
        const inBatch = !members.includes('dry_run')
        for (const batched of inBatch ? [false, true] : [false]) {
          await bringAbout(state)
          const expectation = `${form} ${route} ${members} ${state}${batched ? ', in a batch' : ''}`
          const answer = await (batched
            ? post('batch', `{"operations":[{"op":"${route}",${body}}]}`)
            : post(route, `{${body}}`))
          const [text, after] = state === holding ? (held[state] ?? []) : ['unsatisfied_constraint', state]
          if (text?.startsWith('{')) gives(t, answer, batched ? `{"results":[${text}]}` : text, expectation)
          else {
            const [status, code, mention] =
              text === 'unsatisfied_constraint'
                ? [409, text, `"t" there is ${contrary}; nothing was changed`]
                : [400, text, '"t"']
            if (batched) refusesOperation(t, answer, status, String(code), 0, expectation, mention)
            else refuses(t, answer, status, String(code), expectation, mention)
          }
          t.equal(await found(), after, `${expectation}: the state afterwards`)
        }
      }
    }
  }
}

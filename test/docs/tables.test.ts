/**
 * The documents list exactly the codes, statuses and wordings of possible responses, and the limits of patterns. Every code of 1.0.0 still
 * exists with its status. docs/documents tests the table of settings.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { problemTable } from '../../dist/api/problems.js'
import * as limits from '../../dist/settings/limits.js'
import { withRow } from '../support/prove.js'

const read = (page: string): string => readFileSync(join(import.meta.dirname, '../../docs', page), 'utf8')

t.test('docs/api.md lists exactly the possible errors', (t) => {
  const listed = [...read('api.md').matchAll(/^\| `(\w+)` \| (\d{3}) \| (.+) \|$/gm)].map(
    ([, code, status, wording]) => `${code} ${status} ${wording}`,
  )
  t.strictSame(
    listed,
    Object.entries(problemTable).map(([code, [status, wording]]) => `${code} ${status} ${wording}`),
  )
  t.end()
})

t.test('the message for an unknown outcome states that the write may have happened', (t) => {
  // When a request times out, its write may still be on its way to the disk.
  for (const code of ['unknown_outcome', 'timed_out'] as const)
    t.match(problemTable[code][1], /write may or may not have been applied/, code)
  t.end()
})

/** The codes of 1.0.0, by status. Never change them: users' programs identify errors by them. */
const stableCodes: Readonly<Record<number, string>> = {
  400: `invalid_utf8 invalid_json invalid_body unknown_parameter duplicate_parameter missing_parameter invalid_parameter
    path_or_selector invalid_path invalid_selector invalid_property no_such_topic incompatible_type
    incompatible_properties not_a_number invalid_framing line_too_long`,
  401: 'unauthorized',
  403: 'forbidden_operation forbidden_path',
  404: 'unknown_route',
  405: 'method_not_allowed',
  408: 'upload_timed_out',
  409: 'unsatisfied_constraint',
  410: 'since_gone',
  411: 'length_required',
  413: 'body_too_large',
  415: 'unsupported_media_type unsupported_encoding',
  417: 'expectation_failed',
  429: 'too_many_requests',
  500: 'internal_error',
  503: 'draining overloaded store_unavailable write_conflict unknown_outcome timed_out',
  507: 'disk_nearly_full',
}

t.test('every error code of 1.0.0 still has its status', (t) => {
  const present = Object.entries(problemTable).map(([code, [status]]) => `${code} ${status}`)
  for (const [status, codes] of Object.entries(stableCodes))
    for (const code of codes.split(/\s+/)) t.ok(present.includes(`${code} ${status}`), `${code} ${status}`)
  t.end()
})

t.test('docs/limits.md lists the limits of selectors and patterns', (t) => {
  const table = read('limits.md').split('| What | At most |\n|---|---|\n')[1]?.split('\n\n')[0] ?? ''
  const listed = [...table.matchAll(/ \| ([\d,]+).* \|$/gm)].map(([, number = '']) =>
    Number(number.replaceAll(',', '')),
  )
  t.strictSame(listed, [
    limits.selectorBytesMax,
    limits.repeatMax,
    limits.groupDepthMax,
    limits.patternSizeMax,
    limits.selectorSizeMax,
    limits.selectorEnginesMax,
    limits.enginesSizeMax,
    limits.linearSizeMax,
    limits.planningUnitsMax,
  ])
  t.end()
})

t.test('a proof appends its row to the results in docs/maintainers/verification.md', (t) => {
  const page = read('maintainers/verification.md')
  const row = '| kills | $& | passed |\n'
  const [results = '', ...added] = withRow(page, ['kills', '$&', 'passed']).split(row)
  t.equal([results, ...added].join(''), page, 'the rest of the page is unchanged')
  t.match(results, /\n\| Proof \|(.*\|\n)+$/, 'the row is the last in the table')
  t.end()
})

t.test('the example of TAP_GREP in CONTRIBUTING.md selects a test of the file that it runs', (t) => {
  const [, file = '', name = ''] =
    read('../CONTRIBUTING.md').match(/dist-test\/(\S+)\.js`[^`]+`TAP_GREP='\/(.+?)\/'/) ?? []
  t.match(read(`../test/${file}.ts`), new RegExp(`t\\.test\\('[^']*${name}`))
  t.end()
})

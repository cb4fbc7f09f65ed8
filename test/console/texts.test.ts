/** What the page of the service says in words: numbers, times, facts, readiness, and how high charts are. */
import t from 'tap'
import { chartsOf, highest } from '../../dist/console/service/charts.js'
import { factsOf } from '../../dist/console/service/facts.js'
import * as formats from '../../dist/console/service/formats.js'
import { History } from '../../dist/console/service/history.js'
import { readingOf } from '../../dist/console/service/reading.js'
import { ServiceState } from '../../dist/console/service/service-state.js'

function check<Value>(t: Tap.Test, format: (value: Value) => string, cases: readonly (readonly [Value, string])[]): void {
  for (const [value, expected] of cases) t.equal(format(value), expected, `${value}`)
  t.end()
}

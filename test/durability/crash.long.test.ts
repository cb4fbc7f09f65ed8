/**
 * Kills of workers and primaries under load lose no acknowledged write. No read is stale, no page has part of a batch, and no removal by
 * selector leaves a hole. No command fails alongside a living service, and the surviving workers keep responding. TORTURE_SECONDS=60 runs
 * longer. SILENCE_MS_MAX=1000 requires the response times of a quiet machine.
 */
import t from 'tap'
import { torture } from '../support/faults/torture.js'
import { reportResults } from '../support/proof-results.js'

const seconds = Number(process.env.TORTURE_SECONDS ?? 10)
const silenceMsMax = Number(process.env.SILENCE_MS_MAX ?? 5000)

/** A shorter run may not include every kind of event. */
const wholeSeconds = 60

t.setTimeout((seconds + 600) * 1000)

await t.test('killed workers and primaries lose no acknowledged write', async (t) => {
  const { load, server, faults, results } = await torture(t, { seconds })
  const violations = load.violations()
  reportResults(t, { ...results, violations: violations.length })
  t.strictSame(violations, [], 'every history is linearizable: nothing lost, nothing stale, nothing resurrected')
  t.strictSame(
    faults,
    [],
    'no page has a part of a batch, no removal leaves a hole, no version decreases, and commands succeed',
  )
  const { silenceMsMax: silenceMs = Infinity } = results as { readonly silenceMsMax?: number }
  t.ok(silenceMs <= silenceMsMax, `the longest time without a response while a worker served was ${silenceMs} ms`)
  t.ok(load.acknowledged > 10 * seconds, 'there was load')
  t.strictSame([...load.refused.keys()], [], 'clients saw no failure except broken connections')
  const always = ['kills', 'primaries', 'batches', 'pages', 'reads', 'groups']
  const inTime = ['keys', 'check', 'export', 'backup', 'restartsDone', 'restartsBrokenOff']
  for (const name of seconds < wholeSeconds ? always : [...always, ...inTime])
    t.ok((results[name] ?? 0) > 0, `${results[name]} ${name}`)

  const check = await server.command('check')
  t.equal(check.code, 0, `the store is sound: ${check.stdout}`)
})

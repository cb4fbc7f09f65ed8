/** The limits and names of topic properties. api/properties-over-http tests their effects and compatibility. */
import t from 'tap'
import { propertiesBytesMax } from '../../dist/settings/limits.js'
import { compatible, parseProperties, removalOf, retainsValue } from '../../dist/topics/properties.js'
import { dueMs } from '../../dist/topics/removal/policy.js'

/** The first problem of the properties, if any. */
function checkProperties(
  properties: Record<string, string>,
): { readonly name: string; readonly problem: string } | undefined {
  const checked = parseProperties(properties)
  return checked !== undefined && 'problem' in checked ? checked : undefined
}

/** Parses like a request's body: `__proto__` becomes an own member like any other. */
function parsed(text: string): Record<string, string> {
  return JSON.parse(text) as Record<string, string>
}

t.test('property names and values share a limit in bytes of UTF-8', async (t) => {
  const problem = `exceeds the limit of ${propertiesBytesMax} bytes of UTF-8 for all names and values together`
  t.equal(checkProperties({ ab: 'x'.repeat(propertiesBytesMax - 2) }), undefined)
  t.same(checkProperties({ ab: 'x'.repeat(propertiesBytesMax - 1) }), { name: 'ab', problem })
  t.equal(checkProperties({ ['é'.repeat(propertiesBytesMax / 2 - 1)]: 'é' }), undefined)
  t.equal(checkProperties({ ['é'.repeat(propertiesBytesMax / 2 - 1)]: 'éx' })?.problem, problem)
  const many = Array.from({ length: propertiesBytesMax / 8 }, (_, i) => [`n${String(i).padStart(4, '0')}`, 'xyz'])
  t.equal(checkProperties(Object.fromEntries(many)), undefined)
  t.same(checkProperties({ ...Object.fromEntries(many), z: '' }), { name: 'z', problem })
})

t.test('a lone surrogate is rejected in values and names', async (t) => {
  t.same(checkProperties({ a: 'x\ud800y' }), {
    name: 'a',
    problem: 'contains a lone surrogate, which UTF-8 cannot encode',
  })
  t.same(checkProperties({ 'a\udc00': 'x' }), {
    name: 'a\ufffd',
    problem: 'has a lone surrogate in its name, which UTF-8 cannot encode',
  })
  t.equal(checkProperties({ 'a\ud83d\ude00': '\ud83d\ude00' }), undefined, 'a pair is allowed')
})

t.test('the property __proto__ is checked, counted and compared like any other property', async (t) => {
  const long = parsed(`{"__proto__":${JSON.stringify('x'.repeat(propertiesBytesMax))}}`)
  t.equal(checkProperties(long)?.name, '__proto__')
  t.equal(checkProperties(parsed('{"__proto__":"\\ud800"}'))?.name, '__proto__')
  t.equal(compatible(parsed('{"__proto__":"x"}'), parsed('{"__proto__":"x"}')), true)
  t.equal(compatible(parsed('{"__proto__":"x"}'), parsed('{"__proto__":"y"}')), false)
  t.equal(compatible({}, parsed('{"__proto__":"x"}')), false)
  const inherited = Object.create({ own: 'x', DONT_RETAIN_VALUE: 'true', REMOVAL: 'when time after 5' }) as Record<
    string,
    string
  >
  t.equal(compatible(inherited, { own: 'x' }), false, 'an inherited member is not a property')
  t.equal(retainsValue(inherited), true)
  t.equal(removalOf(inherited), undefined)
})

t.test('the removal policy is parsed from REMOVAL', async (t) => {
  t.equal(removalOf({}), undefined)
  t.equal(removalOf({ removal: 'when no updates for 10m' }), undefined)
  const policy = removalOf({ REMOVAL: "when no updates for 10m remove '*a//'" })
  t.equal(policy?.selector, '*a//')
  t.equal(policy && dueMs(policy, 0, 5), 600_005)
  t.throws(() => removalOf({ REMOVAL: 'when' }), /properties are checked before/, 'unchecked properties are a defect')
})

/**
 * Writing down when keys were used may take as long as the disk likes: revocations are seen meanwhile.
 */
import { mock } from 'node:test'
import t from 'tap'
import { Keyring } from '../../dist/auth/keyring.js'
import { hashToken } from '../../dist/auth/token.js'
import type { KeyRecord, TopicStore } from '../../dist/store/store.js'

/** Longer than between two writes of the uses. */
const minutes = 3

t.test('a key is refused though the uses are still being written', async (t) => {
  mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  t.teardown(() => mock.timers.reset())
  const record: KeyRecord = { name: 'a', tokenHash: hashToken('secret'), allow: ['fetch'], under: [], madeMs: 0 }
  let records = [record]
  let revision = 1
  let touches = 0
  let endTouch = (): void => {}
  const store: Partial<TopicStore> = {
    keysRevision: () => Promise.resolve(revision),
    readKeys: () => Promise.resolve(records),
    touchKeys: () => {
      touches++
      return new Promise<void>((resolve) => (endTouch = resolve))
    },
  }
  const failures: unknown[] = []
  const keyring = await Keyring.open(store as TopicStore, (error) => failures.push(error))

  /** Lets the timers go, and what they set off. */
  async function pass(seconds: number): Promise<void> {
    for (let i = 0; i < seconds * 4; i++) {
      mock.timers.tick(250)
      for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve))
    }
  }

  t.equal(keyring.find('Apikey secret')?.name, 'a')
  await pass(minutes * 60)
  t.equal(touches, 1, 'its use is being written, once')
  t.equal(keyring.find('Apikey secret')?.name, 'a', 'it is known still')
  records = []
  revision++
  await pass(1)
  t.equal(keyring.find('Apikey secret'), undefined, 'a second after its revocation it is not')

  const closed = keyring.close()
  endTouch()
  await new Promise((resolve) => setImmediate(resolve))
  endTouch()
  await closed
  t.equal(touches, 2, 'what was used since is written at the end')
  t.strictSame(failures, [])
})

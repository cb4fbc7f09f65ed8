/**
 * Revoked API keys are refused within a second even while a slow disk delays the write of when keys were last used, and
 * while their revocation itself waits for the disk.
 */
import { mock } from 'node:test'
import t from 'tap'
import { Keyring } from '../../dist/auth/keyring.js'
import { hashToken } from '../../dist/auth/token.js'
import type { KeyRecord } from '../../dist/keys/record.js'
import type { TopicStore } from '../../dist/store/store.js'
import { turn, turns } from '../support/turns.js'

/** Longer than the interval between two writes of the last uses. */
const minutes = 3

t.test('a revoked key is refused while a write of the last uses is still in flight', async (t) => {
  mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] })
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

  /** Advances the timers, and lets what they start run. */
  async function pass(seconds: number): Promise<void> {
    for (let i = 0; i < seconds * 4; i++) {
      mock.timers.tick(250)
      await turns(4)
    }
  }

  t.equal(keyring.find('Apikey secret')?.name, 'a')
  await pass(minutes * 60)
  t.equal(touches, 1, 'one write of its use is in flight')
  t.equal(keyring.find('Apikey secret')?.name, 'a', 'it is still known')
  records = []
  revision++
  await pass(1)
  t.equal(keyring.find('Apikey secret'), undefined, 'a second after its revocation it is unknown')

  const closed = keyring.close()
  endTouch()
  await turn()
  endTouch()
  await closed
  t.equal(touches, 2, 'the uses since then are written on close')
  t.strictSame(failures, [])
})

t.test('a key that is being revoked is refused until it is resumed, and then only if it is still stored', async (t) => {
  const record = (name: string): KeyRecord => ({
    name,
    tokenHash: hashToken(name),
    allow: ['fetch'],
    under: [],
    madeMs: 0,
  })
  let records = [record('a'), record('b')]
  let revision = 1
  const store: Partial<TopicStore> = {
    keysRevision: () => revision,
    readKeys: () => records,
    touchKeys: () => Promise.resolve(),
  }
  const keyring = await Keyring.open(store as TopicStore, (error) => t.fail(String(error)), 1, false)
  t.teardown(() => keyring.close())
  let changes = 0
  keyring.watch(() => changes++)
  const accepted = (): string => ['a', 'b'].filter((name) => keyring.find(`Apikey ${name}`) !== undefined).join()

  t.equal(accepted(), 'a,b')
  keyring.suspend(1, 'a')
  t.equal(accepted(), 'b', 'at once')
  t.equal(changes, 1, 'its streams are told')
  await keyring.reload()
  t.equal(accepted(), 'b', 'whatever is read meanwhile')
  keyring.resume(1)
  t.equal(accepted(), 'a,b', 'its revocation has failed')
  for (const revocation of [2, 3, 3]) keyring.suspend(revocation, 'a')
  keyring.resume(2)
  t.equal(accepted(), 'b', 'the second revocation waits')
  records = [record('b')]
  revision++
  await keyring.reload()
  keyring.resume(3)
  t.equal(accepted(), 'b', 'it is revoked')
  keyring.resume(4)
  t.equal(accepted(), 'b')
})

/**
 * On PostgreSQL, the version of each topic goes up with every change, while the engine's clock steps back by hours and
 * workers are killed, or the service is killed and started again.
 */
import t from 'tap'
import { requireVersionOrder } from '../support/load/version-order.js'
import { scrape } from '../support/service/metrics.js'
import { until } from '../support/service/server.js'
import { postgres, skipReason } from '../support/stores/postgres.js'
import { execute } from '../support/stores/postgres-cluster.js'

const engine = await postgres()

/** Has the sessions of a database find a clock before that of PostgreSQL, which a table sets back. */
const fakeClock = `
  create schema faked;
  create table faked.clock (back_ms bigint not null);
  insert into faked.clock values (0);
  create function faked.clock_timestamp() returns timestamptz volatile language sql as
    $$ select pg_catalog.clock_timestamp() - back_ms * interval '1 ms' from faked.clock $$;
  create function faked.now() returns timestamptz stable language sql as
    $$ select pg_catalog.now() - back_ms * interval '1 ms' from faked.clock $$;
  do $$ begin execute format('alter database %I set search_path = faked, pg_catalog', current_database()); end $$`

await t.test(
  'no version of a topic goes back',
  { skip: engine === undefined && skipReason, timeout: 600_000 },
  async (t) => {
    const store = (await engine?.database()) ?? ''
    await execute(store, fakeClock)
    await requireVersionOrder(t, {
      server: { store },
      setClockBack: (ms) => execute(store, `update faked.clock set back_ms = ${ms}`),
      async disturb(server, _isLastRound, random) {
        // The other one must serve, or nobody would listen.
        const serve = async () => (await scrape(server.adminUrl)).value('topicd_workers') === 2 || undefined
        await until('both workers', serve)
        const killed = random.pick(server.workerPids())
        process.kill(killed, 'SIGKILL')
        await until('its end', async () => !server.workerPids().includes(killed) || undefined)
        await until('both workers', serve)
      },
      removes: false,
      isUnique: false,
    })
    const [row] = await execute(
      store,
      `select min(version) > date_part('epoch', faked.clock_timestamp()) * 1000 * 1024 as ahead from topicd.topics`,
    )
    t.match(row, { ahead: true }, 'the clock was set back')
  },
)

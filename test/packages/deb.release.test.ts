/** The Debian package in a machine with a real systemd: its life from a rejected installation to a purge. */
import { copyFileSync } from 'node:fs'
import t from 'tap'
import { builtPackages } from '../support/machines/built-packages.js'
import { Machine, whyNoMachine } from '../support/machines/machine.js'
import { makeKey, post, underLoad, until } from '../support/machines/machine-steps.js'

t.setTimeout(1_200_000)

const skip = whyNoMachine()

const value = '{"path":"rooms/1/celsius","type":"json","value":21.5}'

await t.test('the Debian package works from installation to purge', { skip }, async (t) => {
  const packageOf = builtPackages(t)
  const machine = await Machine.boot(t)
  for (const version of ['8.0.0', '8.1.0', '9.0.0'] as const)
    copyFileSync(packageOf('deb', version), machine.path(`root/${version}.deb`))
  let token = ''
  // Never 0, which kill(1) takes for the caller's own process group.
  const mainPid = (): string => machine.run('pid=$(systemctl show -P MainPID topicd); [ "$pid" -gt 1 ]; echo "$pid"')
  const workers = (): string[] => machine.run(`pgrep -P ${mainPid()} -f cluster/worker`).split('\n')
  const isWhole = (): void => {
    machine.run('curl -sSf http://127.0.0.1:8081/readyz')
    t.match(post(machine, token, 'fetch', { path: 'rooms/1/celsius' }), value, 'the value is there')
  }

  await t.test('the package installs nothing without a suitable Node.js, and names the remedy', async (t) => {
    machine.run(`mkdir /root/bin; printf '#!/bin/sh\\necho v18.19.0\\n' > /root/bin/old; chmod +x /root/bin/old
      for node in /usr/bin/node /usr/local/bin/node; do
        [ -e $node ] && mv $node $node.kept; cp /root/bin/old $node; done`)
    const { status, output } = machine.try('dpkg -i /root/8.0.0.deb')
    t.not(status, 0)
    t.match(output, 'topicd needs version 22 (22.12 or later) or, with glibc 2.38 or later, 24 or 26\n(20.20 works')
    t.match(output, 'found: /usr/bin/node v18.19.0')
    t.match(output, 'https://deb.nodesource.com/')
    for (const [node, glibc, said] of [
      ['v24.1.0', '2.37', 'found: /usr/bin/node v24.1.0, /usr/local/bin/node v24.1.0, glibc 2.37'],
      [
        'v22.12.0',
        '2.33',
        'topicd needs glibc 2.34 or later, as in Debian 12, Ubuntu 22.04 and RHEL 9; getconf GNU_LIBC_VERSION prints: 2.33',
      ],
      ['v23.0.0', '2.41', 'found: /usr/bin/node v23.0.0, /usr/local/bin/node v23.0.0, glibc 2.41'],
    ] as const) {
      machine.run(`printf '#!/bin/sh\necho glibc ${glibc}\n' > /usr/local/bin/getconf; chmod +x /usr/local/bin/getconf
        for node in /usr/bin/node /usr/local/bin/node; do printf '#!/bin/sh\necho ${node}\n' > $node; done`)
      const refused = machine.try('dpkg -i /root/8.0.0.deb')
      t.not(refused.status, 0)
      t.match(refused.output, said)
    }
    machine.run('rm /usr/local/bin/getconf')
    t.not(machine.try('test -e /usr/lib/topicd/dist').status, 0, 'nothing is unpacked')
    machine.run(`for node in /usr/bin/node /usr/local/bin/node; do
        rm $node; [ -e $node.kept ] && mv $node.kept $node; true; done`)
  })

  await t.test('dpkg -i starts the service', async (t) => {
    const installed = machine.run('dpkg -i /root/8.0.0.deb')
    t.match(installed, 'sudo topicd keys add admin', 'the output names the next step')
    until(machine, 'curl -sf http://127.0.0.1:8081/readyz')
    token = makeKey(machine, 'admin', '--data /var/lib/topicd')
    const created = '{"path":"rooms/1/celsius","created":true}'
    t.equal(post(machine, token, 'addAndSet', { path: 'rooms/1/celsius', value: 21.5 }), created)
    isWhole()
    t.equal(machine.run('systemctl is-enabled topicd'), 'enabled')
    t.match(machine.run('systemctl status topicd --no-pager'), 'workers are serving, version 8.0.0')
    t.equal(
      machine.run('stat -c "%a %U %G" /etc/topicd/topicd.env /var/lib/topicd'),
      '640 root topicd\n700 topicd topicd',
    )
    const page = machine.run('man -P cat topicd')
    for (const part of [/topicd keys rotate NAME/, /EXIT STATUS\s+0\s+success/, /ENVIRONMENT/, /EXAMPLES/])
      t.match(page, part)
    t.equal(machine.run('sysctl -n net.ipv4.tcp_migrate_req'), '1')
  })

  await t.test("root's commands find the service's topics and leave no file of root in its directory", async (t) => {
    const path = { path: 'rooms/1/celsius' }
    const key = machine.run('cd /root; topicd keys add running; sleep 0.5')
    t.equal(post(machine, key, 'fetch', path), value, 'a key added while the service runs')
    // Now each command would have to create the lock file and the table of readers.
    machine.run('systemctl stop topicd; rm /var/lib/topicd/lock /var/lib/topicd/topics/lock.mdb')
    const later = machine.run('cd /root; topicd keys add stopped; topicd export > /root/all.ndjson; topicd check')
    t.match(later, ' 0 findings')
    t.equal(machine.run('find /var/lib/topicd ! -user topicd'), '')
    t.equal(machine.try('ls -d /root/data').status, 2, 'no store elsewhere')
    machine.run('systemctl start topicd')
    t.equal(post(machine, later.split('\n')[0] ?? '', 'fetch', path), value, 'a key added during the stop')
    machine.run('topicd keys revoke running; topicd keys revoke stopped; topicd reload')
    const other = machine.try('cd /root; topicd keys add elsewhere --data /root/data')
    t.match(other, { status: 1, output: 'there is no directory /root/data' })
  })

  await t.test('a primary that is killed or hangs is started again', async () => {
    const killed = mainPid()
    machine.run(`kill -9 ${killed}`)
    const again = (former: string): string =>
      `[ "$(systemctl show -P MainPID topicd)" != ${former} ] && curl -sf http://127.0.0.1:8081/readyz`
    until(machine, again(killed))
    isWhole()
    const drop = '/etc/systemd/system/topicd.service.d'
    machine.run(`mkdir -p ${drop}; printf '[Service]\\nWatchdogSec=10s\\n' > ${drop}/watchdog.conf
      systemctl daemon-reload; systemctl restart topicd`)
    const stopped = mainPid()
    machine.run(`kill -STOP ${stopped}`)
    until(machine, again(stopped))
    isWhole()
    machine.run(`rm -r ${drop}; systemctl daemon-reload; systemctl restart topicd`)
  })

  await t.test('a reload under load applies a valid setting and rejects an invalid one', async (t) => {
    await underLoad(t, machine, token, () => {
      machine.run('echo TOPICD_WORKERS=3 >> /etc/topicd/topicd.env; systemctl reload topicd')
    })
    t.equal(workers().length, 3, 'the valid setting takes effect')
    const before = workers()
    await underLoad(t, machine, token, () => {
      machine.run('cp /etc/topicd/topicd.env /root/good.env; echo TOPICD_WORKERS=none >> /etc/topicd/topicd.env')
      const { status } = machine.try('systemctl reload topicd')
      t.not(status, 0, 'the command fails')
    })
    const journal = machine.run('journalctl -u topicd --no-pager -n 20')
    t.match(journal, /TOPICD_WORKERS.*rolling restart failed/, 'the service logs the reason')
    t.match(machine.run('curl -s http://127.0.0.1:8081/metrics'), /^topicd_config_last_reload_successful 0$/m)
    t.strictSame(workers(), before, 'nothing has changed')
    machine.run(
      'sed s/^TOPICD_WORKERS=3/TOPICD_WORKERS=2/ /root/good.env > /etc/topicd/topicd.env; systemctl reload topicd',
    )
    t.equal(workers().length, 2, 'a valid setting takes effect again')
  })

  await t.test('six restarts in a row succeed', async (t) => {
    // The program starts immediately, so that all starts are within the 10 s in which systemd counts them by default.
    const drop = '/run/systemd/system/topicd.service.d'
    const restarts = (unit: string): number | null => {
      machine.run(`mkdir -p ${drop}
        printf '[Unit]\\n${unit}\\n[Service]\\nType=exec\\nWatchdogSec=0\\nExecStart=\\nExecStart=/bin/sleep infinity\\n' \
          > ${drop}/quick.conf
        systemctl daemon-reload; systemctl reset-failed topicd`)
      return machine.try('for i in 1 2 3 4 5 6; do systemctl restart topicd || exit 1; done').status
    }
    t.equal(restarts(''), 0)
    t.equal(restarts('StartLimitIntervalSec=10s'), 1, 'the usual limit refuses the last')
    machine.run(`rm -r ${drop}; systemctl daemon-reload; systemctl reset-failed topicd; systemctl restart topicd`)
    isWhole()
  })

  await t.test('an upgrade and a rollback under load reload the service and keep its settings', async (t) => {
    const before = mainPid()
    for (const version of ['8.1.0', '8.0.0']) {
      await underLoad(t, machine, token, () => machine.run(`dpkg -i /root/${version}.deb`))
      t.match(machine.run('systemctl status topicd --no-pager'), `workers are serving, version ${version}`)
      t.equal(machine.run('topicd version'), `topicd ${version}`)
    }
    t.equal(mainPid(), before, 'the primary is the same')
    t.match(machine.run('cat /etc/topicd/topicd.env'), /^TOPICD_WORKERS=2$/m)
    isWhole()
  })

  await t.test('if a release changes the settings file, dpkg asks about an edited one or keeps it', async (t) => {
    machine.run(`dpkg-deb -R /root/8.1.0.deb /root/other
      echo '# another comment' >> /root/other/etc/topicd/topicd.env; dpkg-deb -Zgzip -z1 -b /root/other /root/other.deb`)
    const asked = machine.try('dpkg -i /root/other.deb </dev/null')
    t.not(asked.status, 0)
    t.match(asked.output, 'end of file on stdin at conffile prompt')
    isWhole()
    machine.run('dpkg --force-confold --configure topicd </dev/null')
    t.match(machine.run('systemctl status topicd --no-pager'), 'workers are serving, version 8.1.0')
    t.match(machine.run('cat /etc/topicd/topicd.env'), /^TOPICD_WORKERS=2$/m)
    machine.run('rm -r /root/other; rm -f /etc/topicd/*.dpkg-*')
  })

  await t.test('a release that requires a restart restarts the service at an upgrade and at a rollback', async (t) => {
    for (const version of ['9.0.0', '8.0.0']) {
      const before = mainPid()
      machine.run(`dpkg --force-confold -i /root/${version}.deb </dev/null; rm -f /etc/topicd/*.dpkg-*`)
      t.not(mainPid(), before, `to ${version}`)
      isWhole()
    }
    t.match(machine.run('cat /etc/topicd/topicd.env'), /^TOPICD_WORKERS=2$/m, 'settings are kept')
  })

  await t.test('a stopped service stays stopped during an upgrade', async (t) => {
    machine.run('systemctl stop topicd; dpkg -i /root/8.1.0.deb')
    t.equal(machine.try('systemctl is-active topicd').output, 'inactive\n')
    machine.run('dpkg -i /root/8.0.0.deb; systemctl start topicd')
    isWhole()
  })

  await t.test('the timer creates backups and keeps the latest, and one of them can be restored', async (t) => {
    const drops = '/etc/systemd/system/topicd-backup'
    machine.run(`mkdir -p ${drops}.timer.d ${drops}.service.d
      printf '[Timer]\\nOnCalendar=\\nOnCalendar=*:*:0/2\\nAccuracySec=100ms\\nRandomizedDelaySec=0\\n' > ${drops}.timer.d/often.conf
      printf '[Service]\\nEnvironment=KEEP=2\\n' > ${drops}.service.d/keep.conf
      systemctl daemon-reload; systemctl start topicd-backup.timer`)
    const list = 'ls /var/lib/topicd-backups/topicd-*.mdb'
    until(machine, `[ "$(journalctl -u topicd-backup --no-pager | grep -c 'deleted topicd-')" -ge 2 ]`)
    machine.run('systemctl stop topicd-backup.timer; while systemctl is-active topicd-backup; do sleep 0.1; done')
    t.equal(machine.run(list).split('\n').length, 2, 'the last two are kept')
    const age = /^topicd_last_backup_timestamp_seconds (\d\S*)$/m.exec(
      machine.run('curl -s http://127.0.0.1:8081/metrics'),
    )?.[1]
    t.ok(Date.now() / 1000 - Number(age) < 60, 'the metric has the time of the last backup')
    machine.run('systemctl reset-failed; rm -r /etc/systemd/system/topicd-backup.*.d; systemctl daemon-reload')

    const restore = `topicd restore "$(${list} | tail -n 1)" --data /var/lib/topicd`
    const refused = machine.try(restore)
    t.equal(refused.status, 1)
    t.match(refused.output, '/var/lib/topicd already contains a store')
    machine.run(
      `systemctl stop topicd; mv /var/lib/topicd/topics/data.mdb /root/topics.old; ${restore}; systemctl start topicd`,
    )
    isWhole()
    t.equal(machine.run('stat -c %U /var/lib/topicd/topics/data.mdb /var/lib/topicd/lock'), 'topicd\ntopicd')
  })

  await t.test("a restore run by root does not follow links with root's permissions", async (t) => {
    machine.run(`install -d -o topicd -m 700 /root/drill; chmod 711 /root; echo precious > /root/victim
      runuser -u topicd -- ln -s /root/victim /root/drill/lock`)
    const { status } = machine.try(
      'topicd restore "$(ls /var/lib/topicd-backups/topicd-*.mdb | tail -n 1)" --data /root/drill',
    )
    t.not(status, 0)
    t.equal(machine.run('cat /root/victim; stat -c "%U %a" /root/victim; ls /root/drill'), 'precious\nroot 644\nlock')
  })

  await t.test('with the drop-in, the service uses port 443, and a reload loads a renewed certificate', async (t) => {
    const certificate = (name: string): void => {
      machine.run(`cd /etc/topicd; openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 \
        -subj /CN=${name} -keyout key.pem -out cert.pem 2>/dev/null; chown root:topicd key.pem; chmod 640 key.pem`)
    }
    const served = (): string =>
      machine.run('openssl s_client -connect 127.0.0.1:443 </dev/null 2>/dev/null | openssl x509 -noout -subject')
    certificate('first')
    const drop = '/etc/systemd/system/topicd.service.d'
    machine.run(`mkdir -p ${drop}
      printf '[Service]\\nAmbientCapabilities=CAP_NET_BIND_SERVICE\\nCapabilityBoundingSet=CAP_NET_BIND_SERVICE\\nPrivateUsers=no\\n' \
        > ${drop}/port.conf
      cp /etc/topicd/topicd.env /root/good.env
      printf 'TOPICD_PORT=443\\nTOPICD_TLS_CERT=/etc/topicd/cert.pem\\nTOPICD_TLS_KEY=/etc/topicd/key.pem\\n' >> /etc/topicd/topicd.env
      systemctl daemon-reload; systemctl restart topicd`)
    t.match(served(), 'first')
    certificate('second')
    machine.run('systemctl reload topicd')
    t.match(served(), 'second')
    machine.run(
      `rm -r ${drop}; cat /root/good.env > /etc/topicd/topicd.env; systemctl daemon-reload; systemctl restart topicd`,
    )
    isWhole()
  })

  await t.test('additional instances have their own ports and directories', async (t) => {
    const { status } = machine.try('systemctl start topicd@two')
    t.not(status, 0, 'an instance does not start without settings')
    machine.run('mkdir -p /etc/topicd/instances; printf "TOPICD_PORT=8090\\n" > /etc/topicd/instances/two.env')
    t.not(machine.try('timeout 5 systemctl start topicd@two').status, 0, 'an instance does not start on a port in use')
    t.match(machine.run('journalctl -u topicd@two --no-pager'), /8081/)
    machine.run('systemctl stop topicd@two; echo TOPICD_ADMIN_PORT=8091 >> /etc/topicd/instances/two.env')
    machine.run('systemctl start topicd@two; curl -sSf http://127.0.0.1:8091/readyz')
    const data = '/var/lib/topicd@two/data'
    const flags = `--data ${data} --settings /etc/topicd/instances/two.env`
    const key = makeKey(machine, 'two', flags)
    t.match(post(machine, key, 'fetch', { path: 'rooms/1/celsius' }, 8090), 'no_such_topic', 'separate topics')
    t.match(post(machine, key, 'fetch', { path: 'rooms/1/celsius' }), 'unauthorized', 'separate keys')
    machine.run(`cp /etc/topicd/topicd.env /root/good.env; echo TOPICD_WORKERS=none >> /etc/topicd/topicd.env
      systemctl reload topicd@two; cat /root/good.env > /etc/topicd/topicd.env`)
    machine.run('dpkg -i /root/8.1.0.deb')
    t.match(machine.run('systemctl status topicd@two --no-pager'), 'version 8.1.0', 'upgrades also reload the instance')
    isWhole()
    machine.run('systemctl enable topicd@two')
  })

  await t.test('removing the package keeps the data, and a purge names the directories that it deletes', async (t) => {
    const removed = machine.run('dpkg -r topicd')
    t.match(removed, 'kept until a purge: settings in /etc/topicd, topics in /var/lib/topicd')
    t.not(machine.try('pgrep -f topicd/dist/main.js').status, 0, 'nothing runs')
    machine.run('dpkg --unpack /root/8.0.0.deb; rm -rf /run/topicd-upgrade; dpkg --configure topicd')
    for (const port of [8081, 8091]) until(machine, `curl -sf http://127.0.0.1:${port}/readyz`)
    isWhole()
    machine.run('dpkg -r topicd; mkdir -p /opt/topicd')
    const kept = machine.run('dpkg -P topicd')
    t.match(kept, 'kept: /var/lib/topicd, which an installation without dpkg uses')
    t.match(kept, 'the purge deleted /etc/topicd/topicd.env, which an installation without dpkg uses')
    machine.run('rmdir /opt/topicd; dpkg -i /root/8.0.0.deb')
    until(machine, 'curl -sf http://127.0.0.1:8081/readyz')
    isWhole()
    const purged = machine.run('dpkg -P topicd')
    for (const directory of ['/etc/topicd', '/var/lib/topicd', '/var/lib/topicd@two/data']) {
      t.match(purged, `topicd: deleting ${directory} (`)
      t.not(machine.try(`test -e ${directory}`).status, 0)
    }
    t.equal(machine.try('ls -d /usr/lib/topicd /usr/bin/topicd /lib/systemd/system/topicd* 2>/dev/null').output, '')
  })
})

/** The tarball in a machine with a real systemd: an installation, an upgrade, and a rollback by one command. */
import { copyFileSync } from 'node:fs'
import t from 'tap'
import { builtPackages } from '../support/machines/built-packages.js'
import { Machine, whyNoMachine } from '../support/machines/machine.js'
import { makeKey, post, underLoad, until } from '../support/machines/machine-steps.js'

t.setTimeout(1_200_000)

const skip = whyNoMachine()

const ready = 'curl -sSf http://127.0.0.1:8081/readyz'

await t.test('the tarball installs, upgrades and uninstalls the service', { skip }, async (t) => {
  const packageOf = builtPackages(t)
  const machine = await Machine.boot(t)
  for (const version of ['8.0.0', '8.1.0'] as const)
    copyFileSync(packageOf('tarball', version), machine.path(`root/${version}.tar.gz`))
  let token = ''
  const files = (): string =>
    machine.run(`find /etc /var/lib /usr/lib/systemd /usr/bin /usr/local/bin /usr/local/share/man -name '*topicd*' | sort
      ls -A /opt; ls -A /usr/local/share/man 2>&1 || true`)
  const before = files()

  await t.test('an installation outside /opt is rejected', async (t) => {
    machine.run('tar -xzf /root/8.0.0.tar.gz -C /root')
    const { status, output } = machine.try('/root/topicd-8.0.0/install')
    t.equal(status, 1)
    t.equal(output, 'topicd: the release is in /root; unpack it in /opt\n')
    machine.run('rm -r /root/topicd-8.0.0')
  })

  await t.test('an installation starts the service', async (t) => {
    const installed = machine.run('tar -xzf /root/8.0.0.tar.gz -C /opt && /opt/topicd-8.0.0/install')
    t.match(installed, 'sudo /usr/local/bin/topicd keys add admin', 'the output names the next step')
    until(machine, ready)
    token = makeKey(machine, 'admin', '--data /var/lib/topicd')
    t.equal(post(machine, token, 'addAndSet', { path: 'a', value: 1 }), '{"path":"a","created":true}')
    t.equal(machine.run('systemctl is-enabled topicd'), 'enabled')
    t.match(machine.run('man -P cat topicd'), /topicd keys rotate NAME/)
    for (const page of ['http://127.0.0.1:8080/console', 'http://127.0.0.1:8081/']) {
      const html = machine.run(`curl -sSf ${page}`)
      const files = [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path = '']) => new URL(path, page).href)
      t.equal(files.length, 3, page)
      machine.run(files.map((file) => `curl -sSf -o /dev/null ${file}`).join('\n'))
    }
  })

  await t.test('an upgrade and a rollback under load take one command each', async (t) => {
    const primary = machine.run('systemctl show -P MainPID topicd')
    machine.run('tar -xzf /root/8.1.0.tar.gz -C /opt; echo TOPICD_WORKERS=3 >> /etc/topicd/topicd.env')
    for (const version of ['8.1.0', '8.0.0']) {
      await underLoad(t, machine, token, () => machine.run(`/opt/topicd-${version}/install`))
      t.match(machine.run('systemctl status topicd --no-pager'), `3 workers are serving, version ${version}`)
      t.equal(machine.run('topicd version'), `topicd ${version}`)
    }
    t.equal(machine.run('systemctl show -P MainPID topicd'), primary, 'the primary is the same')
    t.match(machine.run('cat /etc/topicd/topicd.env'), /^TOPICD_WORKERS=3$/m, 'settings are kept')
    t.match(post(machine, token, 'fetch', { path: 'a' }), '"value":1}')
  })

  await t.test('a restart starts the release in use', async () => {
    machine.run('systemctl restart topicd')
    until(machine, ready)
  })

  await t.test('an upgrade interrupted after the link moved is completed by running it again', async (t) => {
    machine.run('echo 8.1.0 > /opt/topicd-8.1.0/restart-before')
    const before = machine.run('systemctl show -P MainPID topicd')
    // The upgrade fails because the program that restarts the service is missing.
    const { status } =
      machine.try(`mkdir /root/broken; printf '#!/bin/sh\n[ "$1" != restart ] && exec /bin/systemctl "$@"\n' \
      > /root/broken/systemctl; chmod +x /root/broken/systemctl; PATH=/root/broken:$PATH /opt/topicd-8.1.0/install`)
    t.not(status, 0)
    t.equal(machine.run('systemctl show -P MainPID topicd'), before)
    machine.run('/opt/topicd-8.1.0/install')
    t.not(machine.run('systemctl show -P MainPID topicd'), before, 'the service restarts at the second attempt')
    t.match(post(machine, token, 'fetch', { path: 'a' }), '"value":1}')
  })

  await t.test('a rollback after an interrupted upgrade replaces the later primary', async (t) => {
    machine.run('/opt/topicd-8.0.0/install')
    // The service restarts, but the installation ends before it can delete its notes.
    machine.run(`printf '#!/bin/sh\n/bin/systemctl "$@"; [ "$1" != restart ]\n' > /root/broken/systemctl`)
    t.not(machine.try('PATH=/root/broken:$PATH /opt/topicd-8.1.0/install').status, 0)
    const later = machine.run('systemctl show -P MainPID topicd')
    machine.run('/opt/topicd-8.0.0/install')
    t.not(machine.run('systemctl show -P MainPID topicd'), later)
    t.match(post(machine, token, 'fetch', { path: 'a' }), '"value":1}')
  })

  await t.test('a stopped service stays stopped during an upgrade, and one that failed is tried again', async (t) => {
    machine.run('systemctl stop topicd; /opt/topicd-8.0.0/install')
    t.equal(machine.try('systemctl is-active topicd').output, 'inactive\n')
    const failing =
      machine.try(`cp /etc/topicd/topicd.env /root/good.env; echo TOPICD_WORKERS=none >> /etc/topicd/topicd.env
      systemctl start topicd; failed=$?; cat /root/good.env > /etc/topicd/topicd.env; exit $failed`)
    t.not(failing.status, 0)
    machine.run('/opt/topicd-8.0.0/install')
    until(machine, ready)
  })

  await t.test('an uninstallation keeps settings and topics, but deletes everything with --purge', async (t) => {
    machine.run('systemctl enable --now topicd topicd-backup.timer; systemctl start topicd-backup')
    // Files of other programs, with similar names.
    machine.run(
      'mkdir /opt/topicd-2024; ln -s /dev/null /etc/systemd/system/multi-user.target.wants/topicd-watch.service',
    )
    const uninstalled = machine.run('/opt/topicd/uninstall 2>&1')
    t.match(uninstalled, 'kept: settings in /etc/topicd, topics in /var/lib/topicd')
    t.match(uninstalled, 'kept: /opt/topicd-2024, which was not installed')
    t.equal(machine.run('ls -A /opt | grep topicd; rmdir /opt/topicd-2024'), 'topicd-2024', 'the releases are gone')
    machine.run('rm /etc/systemd/system/multi-user.target.wants/topicd-watch.service')
    t.not(machine.try('pgrep -f topicd/dist/main.js').status, 0, 'nothing runs')
    machine.run('tar -xzf /root/8.0.0.tar.gz -C /opt && /opt/topicd-8.0.0/install')
    t.match(post(machine, token, 'fetch', { path: 'a' }), '"value":1}', 'the topics are still there')
    const kept = machine.run('/opt/topicd/uninstall --purge 2>&1')
    t.match(kept, /deleting \/var\/lib\/topicd \(/)
    t.match(kept, 'kept: /var/lib/topicd-backups (')
    machine.run('rm -r /var/lib/topicd-backups; tar -xzf /root/8.0.0.tar.gz -C /opt && /opt/topicd-8.0.0/install')
    machine.run('/opt/topicd-8.0.0/uninstall --purge')
    t.equal(files(), before)
    t.not(machine.try('getent passwd topicd').status, 0, 'no account is left')
    t.equal(machine.run("systemctl list-units --all --plain --no-legend 'topicd*'"), '')
  })
})

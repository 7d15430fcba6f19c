import assert from 'node:assert/strict';
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { writeChecksums } from '../../tools/release/checksums.ts';
import { filledInstaller } from '../../tools/release/filled-installer.ts';
import { projectRoot, shellBlocks } from '../docs/markdown.ts';
import { serveRelease } from '../install/script/release-server.ts';
import { systemdMissing } from '../install/systemd.ts';
import { pebbleIsMissing, startPebble } from '../support/acme/pebble.ts';
import { builtBinary } from '../support/built-binary.ts';
import { freePortsOn } from '../support/cluster/own-addresses.ts';
import { startPostern } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';

const run = promisify(execFile);
const PUBLISHED = 'https://downloads.example.com';
const PACKAGES = 'curl,libatomic1';
/** A name that counts as public. */
const HOST = 'app.example.com';
const PATIENCE_MS = 300_000;

/** Why no Debian can be made here; undefined if it can. */
function debianMissing(): string | undefined {
  if (process.getuid?.() !== 0) return 'THE ONE LINE WAS NOT RUN ON A MINIMAL DEBIAN: only root can make one';
  const { error } = spawnSync('debootstrap', ['--version'], { stdio: 'ignore' });
  return error === undefined ? undefined : 'THE ONE LINE WAS NOT RUN ON A MINIMAL DEBIAN: install debootstrap';
}

const missing = debianMissing() ?? pebbleIsMissing();
if (missing !== undefined) console.error(missing);

test('one line and postern up lead from a minimal Debian to a page with a public certificate', {
  skip: missing ?? false,
}, async (t) => {
  const scratch = await tempDir(t);
  const debian = join(scratch, 'debian');
  const suite = /^VERSION_CODENAME=(.*)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'stable';
  await run('debootstrap', ['--variant=minbase', `--include=${PACKAGES}`, suite, debian], { maxBuffer: 2 ** 26 });
  // In name spaces of their own: /proc, which Node reads, is gone with the process.
  const enter = ['unshare', '--mount', 'sh', '-c', 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', debian];
  const inside = { env: { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', HOME: '/root' } };
  const type = async (line: string): Promise<string> => {
    const [program = '', ...args] = enter;
    return (await run(program, [...args, 'sh', '-c', `cd /root; ${line}`], inside)).stdout;
  };

  // A release with the executable of this machine.
  const release = join(scratch, 'release');
  mkdirSync(release);
  const server = await serveRelease(t, release);
  cpSync(await builtBinary(), join(release, `postern-linux-${process.arch}`));
  const script = readFileSync(join(projectRoot, 'install.sh'), 'utf8');
  writeFileSync(
    join(release, 'install.sh'),
    filledInstaller(script, { downloadUrl: server.url, signingKey: undefined }),
  );
  writeChecksums(release);

  // As the page has it. A minimal Debian has no sudo, and its user is root.
  const [{ text } = { text: '' }] = shellBlocks('docs/how-to/install.md');
  assert(text.includes(PUBLISHED), text);
  const line = text.replace(PUBLISHED, server.url).replace('sudo sh', 'sh');

  await type('mkdir /root/away && mv /usr/lib/*/libatomic.so.1* /root/away && ldconfig');
  await assert.rejects(
    type(line),
    /the library libatomic is missing: install it \(Debian and Ubuntu: apt-get install libatomic1/,
  );
  await type('mv /root/away/* "$(dirname /usr/lib/*/libc.so.6)" && ldconfig');

  const startedMs = performance.now();
  const said = await type(line);
  assert.match(said, /NOT checked: this install\.sh names no key/);
  assert.match(said, /installed postern \d+\.\d+\.\d+: \/usr\/local\/bin\/postern/);
  assert.match(await type('postern --version'), /^\d+\.\d+\.\d+$/m);

  const pebble = await startPebble(t);
  cpSync(pebble.caFile, join(debian, 'root/pebble-ca.pem'));
  writeFileSync(join(debian, 'root/pebble-root.pem'), await pebble.root());
  const [api, edge, http, tunnel] = await freePortsOn('127.0.0.1', 4);
  pebble.tls.targets.push(edge ?? 0);
  pebble.http.targets.push(http ?? 0);
  const flags = {
    to: new URL(server.url).port,
    email: 'you@example.com',
    'acme-directory': pebble.directoryUrl,
    'acme-ca-file': '/root/pebble-ca.pem',
    'data-dir': '/root/data',
    ...{ 'api-listen': `127.0.0.1:${api}`, 'edge-listen': `127.0.0.1:${edge}` },
    ...{ 'edge-http-listen': `127.0.0.1:${http}`, 'tunnel-listen': `127.0.0.1:${tunnel}` },
  };
  const args = [HOST, ...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]), '--yes'];
  const command = [...enter, 'sh', '-c', 'cd /root && exec postern up "$@"', 'up'];
  const up = startPostern(t, { command, args, ...inside });
  await until(() => up.child.exitCode !== null || up.stdout().includes('until you press Ctrl-C'));
  assert.match(up.stdout(), new RegExp(`^Address: +https://app\\.example\\.com:${edge}/$`, 'm'), up.stderr());
  // The internal CA serves until Pebble has issued a certificate.
  const visit = `curl -sS --fail --cacert pebble-root.pem --connect-to ::127.0.0.1: https://${HOST}:${edge}/SHA256SUMS`;
  await until(() =>
    type(visit).then(
      (page) => page === readFileSync(join(release, 'SHA256SUMS'), 'utf8'),
      () => false,
    ),
  );
  t.diagnostic(
    `from the line to a page with a certificate of Pebble: ${Math.round((performance.now() - startedMs) / 1000)} s`,
  );

  // Again, beside the server that runs: nothing to do.
  assert.match(await type(line), /is installed already/);
  assert.equal((await type('ls -A /usr/local/bin')).trim(), 'postern');
  up.child.kill('SIGTERM');
  assert.equal((await up.exited).code, 0);

  // Another file of the same version: an upgrade, which looks at the store of the service.
  writeFileSync(join(release, `postern-linux-${process.arch}`), '\n', { flag: 'a' });
  writeChecksums(release);
  mkdirSync(join(debian, 'etc/postern'));
  writeFileSync(join(debian, 'etc/postern/postern.env'), 'POSTERN_DATA_DIR="/root/data"\n', { mode: 0o600 });
  assert.match(await type(line), /the secret key fits the store[\s\S]*installed postern/);

  const reason = systemdMissing();
  if (reason !== null) return console.error(reason);
  const unit = join(scratch, 'postern.service');
  const printed = await type('postern service print');
  assert.match(printed, /^ExecStart=\/usr\/local\/bin\/postern server$/m);
  // The program of the chroot, for a check from outside.
  writeFileSync(unit, printed.replaceAll('/usr/local/bin/postern', join(debian, 'usr/local/bin/postern')));
  execFileSync('systemd-analyze', ['verify', unit], { stdio: 'pipe' });
});

async function until(isDone: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (!(await isDone())) {
    assert(performance.now() < deadlineMs, 'waited for too long');
    await sleep(200);
  }
}

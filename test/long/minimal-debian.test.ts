import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { writeChecksums } from '../../tools/release/checksums.ts';
import { filledInstaller } from '../../tools/release/filled-installer.ts';
import { projectRoot, shellBlocks } from '../docs/markdown.ts';
import { bootDebian } from '../install/booted-debian.ts';
import { serveRelease } from '../install/script/release-server.ts';
import { walkAsService } from '../install/service-in-debian.ts';
import { pebbleIsMissing, startPebble } from '../support/acme/pebble.ts';
import { builtBinary } from '../support/built-binary.ts';
import { freePortsOn } from '../support/cluster/own-addresses.ts';
import { until } from '../support/cluster.ts';
import { startPostern } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';

const run = promisify(execFile);
/** What the page says in place of the address. */
const PUBLISHED = 'ADDRESS';
/** As small servers have them. */
const PACKAGES = 'curl,libatomic1,systemd-sysv,dbus';
/** A name that counts as public. */
const HOST = 'app.example.com';
const PATIENCE_MS = 300_000;

/** Why no Debian can be made here; undefined if it can. */
function debianMissing(): string | undefined {
  if (process.getuid?.() !== 0) return 'THE ONE LINE WAS NOT RUN ON A MINIMAL DEBIAN: only root can make one';
  const needed = ['debootstrap', 'systemd-nspawn', 'nsenter'];
  const lacking = needed.filter(
    (program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).error !== undefined,
  );
  if (lacking.length === 0) return undefined;
  return `THE ONE LINE WAS NOT RUN ON A MINIMAL DEBIAN: install ${lacking.join(', ')}`;
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
  const isUp = (): boolean => up.child.exitCode !== null || up.stdout().includes('until you press Ctrl-C');
  await until('postern up is done', isUp, PATIENCE_MS);
  assert.match(up.stdout(), new RegExp(`^Address: +https://app\\.example\\.com:${edge}/$`, 'm'), up.stderr());
  // The internal CA serves until Pebble has issued a certificate.
  const visit = `curl -sS --fail --cacert pebble-root.pem --connect-to ::127.0.0.1: https://${HOST}:${edge}/SHA256SUMS`;
  const page = readFileSync(join(release, 'SHA256SUMS'), 'utf8');
  await until('Pebble issued', async () => (await type(`${visit} || true`)) === page, PATIENCE_MS);
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

  await type('rm -r /etc/postern && mv pebble-ca.pem pebble-root.pem /etc');
  const { 'data-dir': _, ...others } = { ...flags, 'acme-ca-file': '/etc/pebble-ca.pem' };
  const bootedMs = performance.now();
  const booted = await bootDebian(t, debian).catch(String);
  if (typeof booted === 'string') return console.error(`THE SERVICE WAS NOT RUN UNDER SYSTEMD: ${booted}`);
  await walkAsService(t, booted, {
    folder: debian,
    host: HOST,
    flags: Object.entries(others).flatMap(([name, value]) => [`--${name}`, value]),
    visit: visit.replace('pebble-root.pem', '/etc/pebble-root.pem'),
    page: readFileSync(join(release, 'SHA256SUMS'), 'utf8'),
  });
  t.diagnostic(`as a service of a systemd that boots: ${Math.round((performance.now() - bootedMs) / 1000)} s`);
});

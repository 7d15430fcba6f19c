import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { tempDir } from '../../support/temp-dir.ts';
import { nonRootUser } from '../non-root.ts';
import { installerWorld } from './installer-world.ts';
import { MACHINES, type Machine, missingFor } from './run-installer.ts';

const [CURL, WGET, BUSYBOX] = MACHINES as [Machine, Machine, Machine];
const skip = [CURL, WGET, BUSYBOX].map(missingFor).find((each) => each !== false) ?? false;

const MACHINES_WITHOUT: Readonly<Record<string, [Readonly<Record<string, string | null>>, RegExp]>> = {
  musl: [{ ldd: 'echo "musl libc (x86_64)" >&2; exit 1', getconf: null }, /uses musl.*needs glibc 2\.28.*npm package/],
  'an old glibc': [{ getconf: 'echo "glibc 2.27"' }, /has glibc 2\.27, and the executable needs 2\.28/],
  'an old glibc, without getconf': [{ getconf: 'exit 1', ldd: 'echo "ldd (GNU libc) 2.17"' }, /has glibc 2\.17/],
  'no libatomic': [{ ldconfig: 'echo "libstdc++.so.6 => x"' }, /libatomic is missing.*apt-get install libatomic1/],
  'no libstdc++': [{ ldconfig: 'echo "libatomic.so.1 => x"' }, /libstdc\+\+ is missing/],
  'another processor': [{ uname: 'case $1 in -s) echo Linux ;; *) echo riscv64 ;; esac' }, /processor riscv64/],
  'another system': [{ uname: 'case $1 in -s) echo FreeBSD ;; *) echo amd64 ;; esac' }, /no executable for FreeBSD/],
  'neither curl nor wget': [{ curl: null, wget: null }, /needs curl or wget/],
  'no program for SHA-256': [{ sha256sum: null }, /needs sha256sum, shasum or openssl/],
  'little space': [{ df: 'echo Header; echo "/dev/x 1 1 20480 1% /"' }, /has 20 MB of free space, and 200 are needed/],
};

suite('install.sh refuses a machine with', { skip }, () => {
  for (const [name, [programs, says]] of Object.entries(MACHINES_WITHOUT)) {
    test(name, async (t) => {
      const { install, files } = await installerWorld(t);
      const { code, err } = await install({ programs });
      assert.equal(code, 1);
      assert.match(err, says);
      assert.equal(err.trim().split('\n').length, 1, err);
      assert.deepEqual(files(), []);
    });
  }

  test('no rights to write to the target', async (t) => {
    const { install, scratch, target, files } = await installerWorld(t);
    chmodSync(target, 0o555);
    const { identity } = await nonRootUser(t);
    const { code, err } = await install({ identity });
    assert.equal(code, 1);
    assert.match(err, /cannot write to .*target: run this as root \(sudo sh\), or set POSTERN_INSTALL_DIR/);
    const below = await install({ identity, env: { POSTERN_INSTALL_DIR: join(scratch, 'target', 'below') } });
    assert.match(below.err, /cannot create .*below: run this as root/);
    assert.deepEqual(files(), []);
  });

  test('a disk that becomes full', async (t) => {
    for (const machine of [CURL, WGET, BUSYBOX]) {
      const { install, files } = await installerWorld(t, { machine });
      // No file over 100 blocks of 512 bytes: the write fails, as on a full disk.
      const { code, err } = await install({ machine, first: 'trap "" XFSZ; ulimit -f 100' });
      assert.notEqual(code, 0, machine.name);
      assert.match(err, /Nothing was installed/, machine.name);
      assert.deepEqual(files(), [], machine.name);
    }
  });

  test('a link or a directory in the place of the program', async (t) => {
    const { install, target, scratch } = await installerWorld(t);
    writeFileSync(join(scratch, 'postern.mjs'), '');
    symlinkSync(join(scratch, 'postern.mjs'), join(target, 'postern'));
    assert.match((await install()).err, /is a link, such as npm makes: .*npm uninstall -g postern/);
    assert.equal(readFileSync(join(scratch, 'postern.mjs'), 'utf8'), '');
    mkdirSync(join(scratch, 'other', 'postern'), { recursive: true });
    assert.match((await install({ env: { POSTERN_INSTALL_DIR: join(scratch, 'other') } })).err, /is a directory/);
  });

  test('an executable that does not start there', async (t) => {
    const { install, files, release } = await installerWorld(t);
    writeFileSync(release.executable, '#!/bin/sh\necho "libfoo.so.1: cannot open shared object file" >&2\nexit 127\n');
    release.seal();
    const { code, err } = await install();
    assert.equal(code, 1);
    assert.match(err, /does not start here: libfoo\.so\.1: cannot open/);
    assert.deepEqual(files(), []);
  });
});

suite('install.sh needs a proof of who made the release', { skip }, () => {
  test('and says if only the server is one', async (t) => {
    const { install } = await installerWorld(t);
    const withoutKey = await install({ env: { POSTERN_SIGNING_KEY: '' } });
    assert.match(withoutKey.out, /^The signature was NOT checked: this install\.sh names no key/m);
    assert.equal(withoutKey.code, 0);
  });

  test('and, with a key, goes on unchecked only if a variable says so', async (t) => {
    const old = 'echo "ssh-keygen: unknown option -- Y" >&2; exit 1';
    for (const [program, reason] of [
      [null, 'ssh-keygen is missing'],
      [old, 'older than OpenSSH 8.0'],
    ] as const) {
      const { install, files } = await installerWorld(t);
      const programs = { 'ssh-keygen': program };
      const refused = await install({ programs });
      assert.equal(refused.code, 1);
      assert.ok(refused.err.includes(reason), refused.err);
      assert.match(refused.err, /Nothing was installed\. POSTERN_ALLOW_UNSIGNED=1 installs without the check/);
      assert.deepEqual(files(), []);
      const told = await install({ programs, env: { POSTERN_ALLOW_UNSIGNED: '1' } });
      assert.deepEqual([told.code, told.err], [0, '']);
      assert.match(told.out, /^The signature was NOT checked: /m);
    }
  });

  test('and refuses plain HTTP and an unchecked certificate without a signature', async (t) => {
    const plain = await installerWorld(t, { address: '127.0.0.2' });
    const refused = await plain.install({ env: { POSTERN_SIGNING_KEY: '' } });
    assert.match(refused.err, /the signature cannot be checked: .*use https and curl/);
    assert.deepEqual(plain.files(), []);
    assert.equal((await plain.install()).code, 0);
    const secure = await installerWorld(t, { machine: WGET });
    const unchecked = { POSTERN_SIGNING_KEY: '', POSTERN_DOWNLOAD_URL: 'https://127.0.0.1:1' };
    const fetched = {
      wget: 'case $1 in --help) echo "BusyBox v1.35" ;; *) while [ "$1" != -O ]; do shift; done; echo x > "$2" ;; esac',
    };
    assert.match((await secure.install({ env: unchecked, programs: fetched })).err, /the signature cannot be checked/);
    const strange = await plain.install({ env: { POSTERN_DOWNLOAD_URL: 'ftp://127.0.0.1/x' } });
    assert.match(strange.err, /must start with https:/);
    assert.match((await plain.install({ env: { POSTERN_DOWNLOAD_URL: '' } })).err, /set POSTERN_DOWNLOAD_URL/);
    // Names before "@" and other parts that look like the own machine, whose connection counts as proven.
    const { host } = new URL(plain.server.url);
    for (const url of [
      `http://localhost:1@${host}`,
      `http://127.0.0.1:1@${host}`,
      `http://[::1]@${host}`,
      `http://${host}?`,
      `http://${host}#/`,
    ])
      assert.match(
        (await plain.install({ env: { POSTERN_SIGNING_KEY: '', POSTERN_DOWNLOAD_URL: url } })).err,
        /must be an address such as/,
        url,
      );
    assert.deepEqual(plain.files(), ['postern']);
  });

  test('and ends a list of checksums that has no end', async (t) => {
    for (const machine of [CURL, WGET, BUSYBOX]) {
      let sent = 0;
      const instead = (path: string, response: ServerResponse): boolean => {
        if (path !== '/SHA256SUMS') return false;
        const line = Buffer.alloc(64 * 1024, 'x');
        // Enough for a test that fails to end too.
        const send = (): void => {
          while (sent < 64 * 1024 * 1024 && !response.destroyed) {
            sent += line.length;
            if (!response.write(line)) return;
          }
          response.end();
        };
        response.on('drain', send);
        send();
        return true;
      };
      const { install, files } = await installerWorld(t, { machine, instead });
      const { code, err } = await install();
      assert.equal(code, 1, machine.name);
      assert.match(err, /cannot download .*SHA256SUMS/, machine.name);
      assert.ok(sent < 48 * 1024 * 1024, `${machine.name}: ${sent} bytes were sent`);
      assert.deepEqual(files(), []);
    }
  });

  test('and notices a redirect with wget2, which Fedora calls wget', async (t) => {
    const { install, files, release } = await installerWorld(t, { machine: WGET });
    // As wget2 1.99.1 does: it follows, and says so on standard output.
    const followed = `echo "Adding URL: http://127.0.0.1/elsewhere"
while [ "$1" != -O ]; do shift; done; cat ${release.folder}/"\${3##*/}" > "$2"`;
    const { code, out, err } = await install({ programs: { wget: `[ "$1" = --help ] || { ${followed}; }` } });
    assert.deepEqual([code, out], [1, '']);
    assert.match(err, /SHA256SUMS redirects to a place that cannot be trusted \(Adding URL: http:/);
    assert.deepEqual(files(), []);
  });

  test('and follows redirects from HTTPS to HTTPS only', async (t) => {
    const tls = await certificate(t);
    const plain = await installerWorld(t);
    for (const machine of [CURL, WGET]) {
      let location = '';
      const instead = (path: string, response: ServerResponse): boolean => {
        if (location === '') return false;
        response.writeHead(302, { location: `${location}${path}` }).end();
        return true;
      };
      const secure = await installerWorld(t, { machine, tls });
      const front = await installerWorld(t, { machine, tls, instead });
      const env = { CURL_CA_BUNDLE: tls.file, WGETRC: tls.wgetrc };
      const untrusted = await secure.install({ machine });
      assert.match(untrusted.err, /cannot download/, machine.name);
      location = plain.server.url;
      const downgraded = await front.install({ machine, env });
      assert.equal(downgraded.code, 1, machine.name);
      assert.match(downgraded.err, /cannot download|redirects to a place that cannot be trusted/);
      assert.deepEqual(front.files(), []);
      location = secure.server.url;
      const followed = await front.install({
        machine,
        env: { ...env, POSTERN_SIGNING_KEY: secure.env['POSTERN_SIGNING_KEY'] ?? '' },
      });
      assert.deepEqual([followed.code, followed.err], [0, ''], machine.name);
    }
  });
});

/** A certificate for 127.0.0.1, which both programs can be told to trust. */
async function certificate(t: TestContext) {
  const folder = await tempDir(t);
  const [keyFile, file, wgetrc] = ['key.pem', 'cert.pem', 'wgetrc'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const request = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=127.0.0.1'.split(' ');
  execFileSync('openssl', [...request, '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', keyFile, '-out', file], {
    stdio: 'pipe',
  });
  writeFileSync(wgetrc, `ca_certificate = ${file}\n`);
  return { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(file, 'utf8'), file, wgetrc };
}

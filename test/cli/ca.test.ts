import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { promisify } from 'node:util';
import { runCli } from '../../src/app/main/cli.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { openInternalCa } from '../support/internal-ca.ts';
import { tempDir } from '../support/temp-dir.ts';

async function run(...args: string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const context = {
    env: {},
    isTerminal: false,
    print: (line: string) => out.push(line),
    warn: (line: string) => err.push(line),
  };
  const code = await runCli(args, context);
  return { code, out: out.join('\n'), err: err.join('\n') };
}

suite('postern ca', () => {
  test('prints all CAs that clients and agents need, or one of them', async (t) => {
    const dataDir = await tempDir(t);
    const ca = await openInternalCa({ dataDir, domain: 'apps.test', clock: systemClock });
    const settings = ['--data-dir', dataDir, '--domain', 'apps.test'];
    const out = `${ca.domainCaPem}${ca.otherCaPem}`.trimEnd();
    assert.deepEqual(await run('ca', 'print', ...settings), { code: 0, out, err: '' });
    assert.equal((await run('ca', 'print', '--domain-only', ...settings)).out, ca.domainCaPem.trimEnd());
    assert.equal((await run('ca', 'print', '--other', ...settings)).out, ca.otherCaPem.trimEnd());
  });

  test('finds the CA of the domain that the server has, and names the domains if another one is asked for', async (t) => {
    const dataDir = await tempDir(t);
    const ca = await openInternalCa({ dataDir, domain: 'apps.test', clock: systemClock });
    const settings = ['--data-dir', dataDir];
    assert.equal((await run('ca', 'print', '--domain-only', ...settings)).out, ca.domainCaPem.trimEnd());
    assert.match((await run('ca', 'trust-hint', ...settings)).out, /only for apps\.test and names below it/);
    const other = await run('ca', 'print', ...settings, '--domain', 'shop.test');
    assert.equal(other.code, 1);
    assert.match(other.err, /has internal CAs for apps\.test: set --domain to one of them/);
  });

  test('alone, it prints how to trust the CA', async (t) => {
    const dataDir = await tempDir(t);
    await openInternalCa({ dataDir, domain: 'apps.test', clock: systemClock });
    const alone = await run('ca', '--data-dir', dataDir);
    assert.equal(alone.code, 0, alone.err);
    assert.match(alone.out, /curl --cacert \S+ https:\/\/app\.apps\.test:7443\/\n/, 'with the port of the edge');
    assert.deepEqual(alone, await run('ca', 'trust-hint', '--data-dir', dataDir));
  });

  test('prints the CAs of all domains that the server had, unless one is named or one alone is to be trusted', async (t) => {
    const dataDir = await tempDir(t);
    const first = await openInternalCa({ dataDir, domain: 'localhost', clock: systemClock });
    const second = await openInternalCa({ dataDir, domain: 'apps.test', clock: systemClock });
    const settings = ['--data-dir', dataDir];
    const out = `${second.domainCaPem}${first.domainCaPem}${second.otherCaPem}`.trimEnd();
    assert.equal((await run('ca', 'print', ...settings)).out, out);
    for (const args of [['trust-hint'], ['print', '--domain-only']]) {
      const { code, err } = await run('ca', ...args, ...settings);
      assert.equal(code, 2);
      assert.match(err, /internal CAs for apps\.test, localhost: set --domain to the domain of the server/);
    }
    const named = await run('ca', 'print', '--domain-only', ...settings, '--domain', 'apps.test');
    assert.equal(named.out, second.domainCaPem.trimEnd());
  });

  test('explains how to trust it, with its real path, and no line that a shell would misread', async (t) => {
    const dataDir = join(await tempDir(t), "it's here");
    const ca = await openInternalCa({ dataDir, domain: 'apps.test', clock: systemClock });
    const { code, out } = await run('ca', 'trust-hint', '--data-dir', dataDir, '--domain', 'apps.test');
    assert.equal(code, 0);
    assert.match(out, new RegExp(`SHA-256 ${new X509Certificate(ca.domainCaPem).fingerprint256}`));
    for (const word of [
      'curl --cacert',
      'NODE_EXTRA_CA_CERTS',
      'update-ca-certificates',
      'macOS',
      'Windows',
      'Firefox',
    ]) {
      assert.ok(out.includes(word), word);
    }
    const quoted = /curl --cacert (.*) https/.exec(out)?.[1] ?? '';
    const { stdout } = await promisify(execFile)('sh', ['-c', `cat ${quoted}`]);
    assert.equal(stdout, ca.domainCaPem);
  });

  test('creates no CA where there is none, and says what to check', async (t) => {
    const dataDir = await tempDir(t);
    const { code, err } = await run('ca', 'print', '--data-dir', dataDir);
    assert.equal(code, 1);
    assert.match(err, /creates it on its first start[\s\S]*--data-dir/);
    assert.deepEqual(await readdir(dataDir), []);
  });

  test('rejects unknown arguments', async () => {
    assert.match((await run('ca', 'prnt')).err, /unknown subcommand "prnt".*print/);
    assert.match((await run('ca', 'trust-hint', '--other')).err, /unknown flag --other/);
    assert.match((await run('ca', 'print', 'extra')).err, /takes no arguments/);
  });
});

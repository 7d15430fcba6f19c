import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import type { ChallengeRecords } from '../../src/proxy/dns/challenge-records.ts';
import { runHook } from '../../src/proxy/dns/providers/hook/hook-records.ts';
import { hasFailed, isIssued, untilManaged } from '../support/acme/acme-world.ts';
import { startFakeAcme } from '../support/acme/fake-acme-server.ts';
import { openNode } from '../support/acme/manager-world.ts';
import type { Cleanup } from '../support/cleanup.ts';
import { challengeRecords } from '../support/dns/challenge-records.ts';
import { tempDir } from '../support/temp-dir.ts';

const RECORD = { name: '_acme-challenge.example.com', value: 'a-value; touch /tmp/owned' };
const none = new AbortController().signal;

/** An executable with this shell script. */
async function script(test: Cleanup, lines: string): Promise<{ path: string; file: (name: string) => string }> {
  const directory = await tempDir(test);
  const path = join(directory, 'hook');
  await writeFile(path, `#!/bin/sh\ncd ${directory}\n${lines}\n`);
  await chmod(path, 0o755);
  return { path, file: (name) => join(directory, name) };
}

const env = { PATH: process.env['PATH'], HOME: '/root', POSTERN_ACME_EAB_KEY: 'secret', PGPASSWORD: 'secret' };

/** A server that publishes all records with the executable. */
function hookRecords(path: string): ChallengeRecords {
  return challengeRecords([{ zone: '*', provider: 'hook', options: { path } }], {});
}

suite('the DNS hook', () => {
  test('gets command, name and value as arguments, no shell and no secrets', async (context) => {
    const { path, file } = await script(context, 'printf "%s\\n" "$#" "$@" > args; env > env');
    await runHook({ path, timeoutMs: 30_000, env }, 'present', RECORD, none);
    assert.equal(await readFile(file('args'), 'utf8'), `3\npresent\n${RECORD.name}\n${RECORD.value}\n`);
    const seen = await readFile(file('env'), 'utf8');
    assert.match(seen, /^PATH=/m);
    assert.doesNotMatch(seen, /POSTERN|secret/);
  });

  test('is killed with everything that it started when it takes too long', async (context) => {
    const { path, file } = await script(context, 'sleep 300 & echo $! > child; wait');
    const run = runHook({ path, timeoutMs: 1_500, env }, 'present', RECORD, none);
    await assert.rejects(run, /ran longer than 1\.5 s \(acme_dns_hook_timeout\) and was killed/);
    const pid = Number(await readFile(file('child'), 'utf8'));
    await context.waitFor(() => assert.throws(() => process.kill(pid, 0), /ESRCH/), { timeout: 10_000 });
  });

  test('is killed when the server stops', async (context) => {
    const { path } = await script(context, 'sleep 300');
    const stopping = new AbortController();
    const run = runHook({ path, timeoutMs: 60_000, env }, 'present', RECORD, stopping.signal);
    stopping.abort();
    await assert.rejects(run, /the server is stopping/);
  });

  test('fails with its exit code and the last line that it wrote', async (context) => {
    const { path } = await script(context, 'echo first >&2; echo "zone \x1b[31mnot found" >&2; exit 3');
    const run = runHook({ path, timeoutMs: 30_000, env }, 'present', RECORD, none);
    await assert.rejects(run, /failed: present _acme-challenge\.example\.com: it exited with 3: zone +\[31mnot found$/);
  });

  test('that leaves a process behind does not delay the order', async (context) => {
    const { path, file } = await script(context, 'sleep 300 & echo $! > child');
    await runHook({ path, timeoutMs: 30_000, env }, 'present', RECORD, none);
    process.kill(Number(await readFile(file('child'), 'utf8')), 'SIGKILL');
  });

  test('that does not exist is named in the message', async () => {
    const run = runHook({ path: '/does/not/exist', timeoutMs: 1_000, env }, 'present', RECORD, none);
    await assert.rejects(run, /cannot be started \(ENOENT\): check the path and that it is executable/);
  });

  test('that lies below a file fails like one that does not exist', async (context) => {
    const { path } = await script(context, 'exit 0');
    const run = runHook({ path: `${path}/hook`, timeoutMs: 1_000, env }, 'present', RECORD, none);
    await assert.rejects(run, { name: 'DnsFailure', message: /cannot be started \(ENOTDIR\)/ });
  });

  test('does not end the process when there are no file descriptors left', async () => {
    const hook = new URL('../../src/proxy/dns/providers/hook/hook-records.ts', import.meta.url);
    const program = `
      const { runHook } = await import(${JSON.stringify(hook.href)});
      const { openSync } = await import('node:fs');
      try { for (;;) openSync('/dev/null'); } catch {}
      const settings = { path: '/bin/true', timeoutMs: 10000, env: {} };
      const record = { name: '_acme-challenge.example.com', value: 'v' };
      await runHook(settings, 'present', record, new AbortController().signal).catch((error) => {
        process.exitCode = error.name === 'DnsFailure' && error.message.includes('(EMFILE)') ? 7 : 8;
      });
      await new Promise((resolve) => setImmediate(resolve));`;
    const limited = spawn('/bin/sh', ['-c', 'ulimit -n 128; exec "$@"', 'sh', process.execPath, '-e', program], {
      stdio: 'ignore',
    });
    const [code] = await once(limited, 'exit');
    assert.equal(code, 7);
  });
});

test('the zone * has all names that no other zone has, as they are', async () => {
  const records = challengeRecords(
    [
      { zone: 'example.com', provider: 'cloudflare', options: { token: 'x' } },
      { zone: '*', provider: 'hook', options: { path: '/bin/true' } },
    ],
    { aliasOf: async (name) => (name === '_acme-challenge.a.example.net' ? 'a.elsewhere.org' : null) },
  );
  assert.equal(records.isHookFor('_acme-challenge.example.com'), false);
  assert.equal(records.isHookFor('_acme-challenge.example.net'), true);
  // A hook gets the name as it is.
  assert.equal(await records.placeOf('_acme-challenge.a.example.net'), '_acme-challenge.a.example.net');
});

suite('an order by dns-01', () => {
  test('presents and cleans up for a wildcard, while other names keep the configured challenges', async (context) => {
    const fake = await startFakeAcme(context);
    const { path, file } = await script(context, 'echo "$1 $2 $3" >> calls');
    const dns = hookRecords(path);
    const node = await openNode(context, { servers: [fake], dns });
    await node.edge('*.example.com', 'example.com');
    const doc = await untilManaged(node, '*.example.com', isIssued);
    await untilManaged(node, 'example.com', isIssued);
    assert.equal(doc.challenge_type, 'dns-01');
    const calls = (await readFile(file('calls'), 'utf8')).trim().split('\n');
    const value = /^present _acme-challenge\.example\.com ([\w-]{43})$/.exec(calls[0] ?? '')?.[1];
    assert.deepEqual(calls.slice(1), [`cleanup _acme-challenge.example.com ${value}`]);
    const types = fake.orders.map(({ hostname, type }) => `${hostname} ${type}`).sort();
    assert.deepEqual(types, ['*.example.com dns-01', 'example.com tls-alpn-01']);
  });

  test('of a name and of its wildcard take turns: a hook may keep one value only', async (context) => {
    const fake = await startFakeAcme(context);
    const { path, file } = await script(context, 'echo $1 >> calls; sleep 0.3; echo end >> calls');
    const dns = hookRecords(path);
    const node = await openNode(context, { servers: [fake], dns, challenges: ['dns-01'] });
    await node.edge('*.example.com', 'example.com');
    for (const host of ['*.example.com', 'example.com']) await untilManaged(node, host, isIssued);
    const one = 'present\nend\ncleanup\nend\n';
    assert.equal(await readFile(file('calls'), 'utf8'), one + one);
  });

  test('fails with the message of the hook, and cleans up', async (context) => {
    const fake = await startFakeAcme(context);
    const { path, file } = await script(context, 'echo $1 >> calls; [ $1 = cleanup ] || exit 4');
    const dns = hookRecords(path);
    const node = await openNode(context, { servers: [fake], dns });
    await node.edge('*.example.com');
    const { job, order } = await untilManaged(node, '*.example.com', hasFailed);
    assert.equal(job?.error_code, 'ERR_POSTERN_ACME_DNS_HOOK');
    assert.match(job?.msg ?? '', /exited with 4/);
    assert.equal(order, null);
    assert.equal(await readFile(file('calls'), 'utf8'), 'present\ncleanup\n');
  });
});

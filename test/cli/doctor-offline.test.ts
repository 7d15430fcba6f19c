import assert from 'node:assert/strict';
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { loadConfig } from '../../src/app/settings/load.ts';
import { settingsCheck } from '../../src/control/findings/subjects/settings.ts';
import { startPostern } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { type Diagnosis, deadAddress, examine, listening, said } from './doctor-world.ts';

/** No server runs: four free ports, and a data directory as a server leaves it. */
async function installation(t: TestContext) {
  const dataDir = join(await tempDir(t), 'data');
  await mkdir(join(dataDir, 'internal-ca', 'other'), { recursive: true, mode: 0o700 });
  await chmod(dataDir, 0o700);
  for (const file of ['secret.key', 'postern.sqlite', 'first-api-key', 'internal-ca/other/private-key.pem'])
    await writeFile(join(dataDir, file), '', { mode: 0o600 });
  const env: Record<string, string> = { POSTERN_DATA_DIR: dataDir };
  for (const part of ['API', 'EDGE', 'EDGE_HTTP', 'TUNNEL']) env[`POSTERN_${part}_LISTEN`] = await deadAddress();
  const look = (args: readonly string[] = []): Promise<Diagnosis> => examine(args, env);
  return { dataDir, env, look };
}

test('reports that no server runs, and checks the rest', async (t) => {
  const { look } = await installation(t);
  const diagnosis = await look();
  assert.equal(diagnosis.code, 1);
  assert.match(said(diagnosis, 'api')[0] ?? '', /^problem: no server responds at http:\/\/127\.0\.0\.1:\d+/);
  assert.deepEqual(
    said(diagnosis, 'ports').map((line) => line.replace(/\d+\.[\d.:]+/, 'A')),
    [
      'ok: api_listen A is free',
      'ok: edge_listen A is free',
      'ok: edge_http_listen A is free',
      'ok: tunnel_listen A is free',
    ],
  );
  assert.match(said(diagnosis, 'settings')[0] ?? '', /^ok: /);
  assert.match(said(diagnosis, 'data_dir')[0] ?? '', /^hint: .*first-api-key still exists/);
});

test('names the process that holds a port in use', async (t) => {
  const { look } = await installation(t);
  const address = await listening(t, createServer());
  const [line = ''] = said(await look(['--edge-listen', address]), 'ports', address);
  assert.match(line, new RegExp(`^problem: .+ \\(process ${process.pid}\\) already listens on ${address}`));
  const strange = await look(['--edge-listen', '192.0.2.1:7443']);
  assert.match(said(strange, 'ports', '192.0.2.1')[0] ?? '', /^problem: .*not an address of this machine/);
});

test('checks modes of the data directory and of its secrets', async (t) => {
  const { dataDir, look } = await installation(t);
  await rm(join(dataDir, 'first-api-key'));
  assert.match(said(await look(), 'data_dir')[0] ?? '', /^ok: /);
  await chmod(dataDir, 0o755);
  assert.match(said(await look(), 'data_dir', '0755')[0] ?? '', /^problem: .*other users/);
  await chmod(dataDir, 0o700);
  for (const file of ['secret.key', 'postern.sqlite', 'internal-ca/other/private-key.pem']) {
    await chmod(join(dataDir, file), 0o640);
    assert.match(said(await look(), 'data_dir', file)[0] ?? '', /^problem: .* has mode 0640/);
    await chmod(join(dataDir, file), 0o600);
  }
  await rm(join(dataDir, 'secret.key'));
  assert.match(said(await look(), 'data_dir', 'secret.key')[0] ?? '', /^problem: .*missing/);
  await rm(dataDir, { recursive: true });
  assert.match(said(await look(), 'data_dir')[0] ?? '', /^hint: .*creates it on its first start/);
  await writeFile(dataDir, '');
  assert.match(said(await look(), 'data_dir')[0] ?? '', /^problem: .*not a directory/);
});

test('stops at settings that cannot be loaded', async (t) => {
  const { look } = await installation(t);
  const diagnosis = await look(['--edge-listen', 'nowhere']);
  assert.equal(diagnosis.code, 78);
  assert.deepEqual(
    diagnosis.findings.map(({ level, check }) => `${level} ${check}`),
    ['problem settings'],
  );
});

test('reports risky settings', async (t) => {
  const { look } = await installation(t);
  const risks: readonly (readonly [readonly string[], RegExp])[] = [
    [['--trusted-proxies', '0.0.0.0/0'], /includes every address/],
    [['--upstream-allow-cidrs', '169.254.0.0/16'], /instance credentials/],
    [['--oidc-http-issuers', 'idp.example.com'], /plain http/],
  ];
  for (const [args, words] of risks) {
    const lines = said(await look(args), 'settings');
    assert.ok(
      lines.some((line) => line.startsWith('warning: ') && words.test(line)),
      `${args.join(' ')} ${lines.join(' ')}`,
    );
  }
});

test('reports a public API with open metrics', () => {
  const { config } = loadConfig({
    flags: new Map(),
    env: { POSTERN_API_LISTEN: '0.0.0.0:7999', POSTERN_API_TLS_CERT: 'internal', POSTERN_API_METRICS_OPEN: 'true' },
  });
  const lines = settingsCheck.run({ config }).map(({ level, message }) => `${level}: ${message}`);
  assert.match(lines[0] ?? '', /^warning: the API listens on 0\.0\.0\.0:7999, where other machines can reach it/);
  assert.match(lines[1] ?? '', /^warning: .*metrics without a key/);
});

test('reports that port 0 of the API cannot be known', async (t) => {
  const { look } = await installation(t);
  assert.match(said(await look(['--api-listen', '127.0.0.1:0']), 'api')[0] ?? '', /^problem: .*port 0/);
});

test('dials a server with a public name directly where its data directory is', async (t) => {
  const { env } = await installation(t);
  const url = { POSTERN_API_URL: 'https://api.example.com' };
  assert.match(said(await examine([], { ...env, ...url }), 'api')[0] ?? '', /at http:\/\/127\.0\.0\.1:/);
  const elsewhere = await examine(['--api-url', 'https://api.invalid'], env);
  assert.match(said(elsewhere, 'api')[0] ?? '', /at https:\/\/api\.invalid/);
});

test('runs as its own process', async (t) => {
  const { env } = await installation(t);
  const run = startPostern(t, { args: ['doctor'], env });
  assert.equal((await run.exited).code, 1);
  assert.match(run.stdout(), /^problem {2}api +no server responds/m);
  assert.equal(run.stderr(), '');
});

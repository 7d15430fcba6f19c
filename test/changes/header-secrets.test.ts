// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references and variables are written like this
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { operatorEnv, runCommand } from '../cli/run-command.ts';
import { TestWorld } from '../support/test-world.ts';

const world = await TestWorld.open({ after });
const folder = await mkdtemp(join(tmpdir(), 'postern-headers-'));
after(() => rm(folder, { recursive: true }));
const file = join(folder, 'postern-sites.yaml');
const env = { ...operatorEnv(world), TOKEN: 'Bearer planted-token' };

const SITE = `version: 1
https_edges:
  headers.example.com:
    routes:
      /:
        request_headers: {add: {X-From: edge, Authorization: "$\{env:TOKEN}"}, remove: [X-Gone]}
        response_headers: {add: {x-frame-options: DENY}}
`;

async function run(...args: readonly string[]) {
  return runCommand(args, { env });
}

async function stored(): Promise<Record<string, string>> {
  const { body } = await world.api('GET', '/edges/https');
  return body.https_edges[0].routes[0].request_headers.add;
}

test('a file adds headers in any case, and its credentials are references', async () => {
  await writeFile(file, SITE);
  const applied = await run('apply', '-f', file, '--yes');
  assert.equal(applied.code, 0, applied.stderr);
  assert.doesNotMatch(`${applied.stdout}${applied.stderr}`, /planted/);
  assert.deepEqual(await stored(), { 'x-from': 'edge', authorization: 'Bearer planted-token' });
  assert.match((await run('plan', '-f', file)).stdout, /[Nn]o changes|nothing/);

  const exported = join(folder, 'exported.yaml');
  assert.equal((await run('export', '-f', exported)).code, 0);
  const text = await readFile(exported, 'utf8');
  assert.doesNotMatch(text, /planted/);
  assert.match(text, /x-from: edge/);
  assert.match(text, /authorization:/);

  // Another value of a plain header leaves the credential as it is.
  await writeFile(file, SITE.replace('edge, Authorization: "${env:TOKEN}"', 'other'));
  const changed = await run('apply', '-f', file, '--yes');
  assert.equal(changed.code, 0, changed.stderr);
  assert.deepEqual(await stored(), { 'x-from': 'other', authorization: 'Bearer planted-token' });
});

test('a file with a credential in it is refused, without repeating it', async () => {
  await writeFile(file, SITE.replace('${env:TOKEN}', 'Basic planted'));
  const { code, stdout, stderr } = await run('plan', '-f', file);
  assert.notEqual(code, 0);
  assert.match(`${stdout}${stderr}`, /Authorization is a secret/i);
  assert.doesNotMatch(`${stdout}${stderr}`, /planted/);
});

test('a file with a reserved header or an unknown variable is refused with its place', async () => {
  for (const [add, message] of [
    ['{connection: close}', /request_headers\.add.*connection/],
    ['{x-a: "${nothing}"}', /variable .*nothing.* does not exist/],
  ] as const) {
    await writeFile(file, SITE.replace(/\{X-From.*?"\}/, add));
    const { code, stdout, stderr } = await run('plan', '-f', file);
    assert.notEqual(code, 0);
    assert.match(`${stdout}${stderr}`, message);
  }
});

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are written like this
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { operatorEnv, runCommand } from '../cli/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TestWorld } from '../support/test-world.ts';

const world = await TestWorld.open({ after });
const folder = await tempDir({ after });
const file = join(folder, 'postern-sites.yaml');
const env = { ...operatorEnv(world), KEY: 'Bearer planted-key' };
/** Nothing listens there. */
const URL_OF_LIST = 'http://127.0.0.1:9/list.txt';

const POLICY = `version: 1
ip_policies:
  office:
    lists:
      ${URL_OF_LIST}:
        url: ${URL_OF_LIST}
        headers: {authorization: "$\{env:KEY}"}
      office.txt: {file: office.txt, action: allow}
      DE,FR: {countries: [fr, DE], enforce: false}
      bad ones: {file: bad.txt}
`;

async function run(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(args, { env });
  assert.equal(code, 0, `${stdout}${stderr}`);
  assert.doesNotMatch(`${stdout}${stderr}`, /planted/);
  return stdout;
}

/** Secrets are sealed, and stay the same bytes while nobody sends them again. */
function stored(): readonly object[] {
  const records = [...world.server.replica.all('ip_policy_list')];
  return records.map(({ id, doc, secrets }) => ({ id, doc, secrets })).sort((a, b) => (a.id < b.id ? -1 : 1));
}

test('lists of a file are applied, planned without a change, exported by their sources, and undone', async () => {
  await writeFile(file, POLICY);
  await run('apply', '-f', file, '--yes');
  assert.equal(stored().length, 4);
  const { text: shown } = await world.api('GET', '/ip_policy_lists');
  assert.match(shown, /authorization/);
  assert.doesNotMatch(shown, /planted/);
  assert.match(await run('plan', '-f', file), /[Nn]o changes|nothing/);

  const exported = join(folder, 'exported.yaml');
  await run('export', '-f', exported);
  const text = await readFile(exported, 'utf8');
  assert.doesNotMatch(text, /planted|ip_policy_list/);
  for (const name of [URL_OF_LIST, 'office.txt', 'DE,FR', 'bad ones']) assert.match(text, new RegExp(`${name}"?:\\n`));
  assert.match(await run('plan', '-f', exported), /[Nn]o changes|nothing/);

  const before = stored();
  await writeFile(file, POLICY.replace(/ +headers: .*\n/, '        refresh_minutes: 5\n'));
  await run('apply', '-f', file, '--yes');
  const changed = stored();
  const secrets = (records: readonly object[]) => records.map((each) => (each as { secrets: unknown }).secrets);
  assert.deepEqual(secrets(changed), secrets(before));
  assert.match(JSON.stringify(changed), /"refresh_minutes":5/);
  const { body } = await world.api('GET', '/changes');
  await run('undo', String(body.changes[0].revision), '--yes');
  assert.deepEqual(stored(), before);
});

test('a secret is not sent to another URL, and not written into a file', async () => {
  const elsewhere = 'http://127.0.0.1:10/list.txt';
  for (const text of [
    POLICY.replace(/ +headers: .*\n/, '').replace(`url: ${URL_OF_LIST}`, `url: ${elsewhere}`),
    POLICY.replace('${env:KEY}', 'Bearer planted-key'),
  ]) {
    await writeFile(file, text);
    const { code, stdout, stderr } = await runCommand(['apply', '-f', file, '--yes'], { env });
    assert.notEqual(code, 0, `${stdout}${stderr}`);
    assert.doesNotMatch(`${stdout}${stderr}`, /planted/);
    assert.ok(!JSON.stringify(stored()).includes(elsewhere));
  }
});

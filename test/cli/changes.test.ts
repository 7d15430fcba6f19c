import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { querySql } from '../store/engines.ts';
import { TestWorld } from '../support/test-world.ts';
import { operatorEnv, type RunOptions, runCommand } from './run-command.ts';

const world = await TestWorld.open({ after });
const env = operatorEnv(world);
const OIDC = { issuer: 'https://accounts.example.com', client_id: 'id', client_secret: 'planted-secret' };

function postern(args: readonly string[], options: RunOptions = {}) {
  return runCommand(args, { env, ...options });
}

async function write(method: string, path: string, body?: object) {
  const answer = await world.api(method, path, body);
  assert.ok(answer.status < 300, answer.text);
  return { body: answer.body, revision: answer.headers.get('postern-revision') as string };
}

const edge = await write('POST', '/edges/https', { hostports: ['cli.example.com:443'], description: 'first' });
const edgePath = `/edges/https/${edge.body.id}`;
const route = await write('POST', `${edgePath}/routes`, { match: '/', match_type: 'path_prefix', oidc: OIDC });
const renamed = await write('PATCH', edgePath, { description: 'second' });

suite('postern changes', () => {
  test('lists revision, time, author, object and message, newest first', async () => {
    await write('POST', '/changesets', {
      operations: [
        { method: 'POST', path: '/ip_policies', body: {} },
        { method: 'POST', path: '/ip_policies', body: {} },
      ],
      message: 'two\npolicies\u001b[31m',
    });
    const { code, stdout } = await postern(['changes', '--since', '1d']);
    const [head = '', first = '', second = '', ...rest] = stdout.trimEnd().split('\n');
    assert.equal(code, 0);
    assert.deepEqual(head.split(/ {2,}/), ['REVISION', 'WHEN', 'WHO', 'WHAT', 'MESSAGE']);
    assert.match(first, / {2}created ip_policy ipp_\w+ and 1 more {2,}two\\u000apolicies\\u001b\[31m$/);
    assert.match(
      second,
      new RegExp(`^${renamed.revision} +20\\S+Z  First API key  updated https_edge cli\\.example\\.com `),
    );
    assert.ok(
      rest.some((line) => line.includes('created https_edge cli.example.com')),
      stdout,
    );
  });

  test('names a site by its host on a narrow terminal, and has local times there', async () => {
    await write('POST', '/changesets', {
      operations: [
        { method: 'POST', path: '/ip_policies', body: {} },
        { method: 'POST', path: '/edges/https', body: { hostports: ['narrow.example.com:443'] } },
      ],
      message: 'a message that has no room beside the host',
    });
    const { stdout } = await postern(['changes', '--limit', '1'], { columns: 80 });
    assert.match(stdout, / {2}created edge narrow\.example\.com/);
    assert.doesNotMatch(stdout, /no room/);
    assert.match(stdout, / \d{4}-\d\d-\d\d \d\d:\d\d {2}/);
    const utc = await postern(['changes', '--limit', '1', '--utc'], { columns: 120 });
    assert.match(utc.stdout, / \d{4}-\d\d-\d\d \d\d:\d\dZ {2}/);
    assert.match(utc.stdout, /no room/);
  });

  test('filters by object, author and time, and pages as far as it is asked to', async () => {
    const ofEdge = await postern(['changes', '--object', edge.body.id, '-o', 'json']);
    const { changes } = JSON.parse(ofEdge.stdout);
    assert.deepEqual(
      changes.map((change: { revision: number }) => String(change.revision)),
      [renamed.revision, edge.revision],
    );
    const one = await postern(['changes', '--limit', '1', '--author', changes[0].author.id, '--output=json']);
    assert.equal(JSON.parse(one.stdout).changes.length, 1);
    assert.match(one.stderr, /there are older changes: use --limit/);
    const none = await postern(['changes', '--since', '2099-01-01T00:00:00Z']);
    assert.deepEqual([none.code, none.stdout, none.stderr], [0, '', 'none\n']);
  });

  test('shows the difference field by field, with secrets masked', async () => {
    const shown = await postern(['changes', 'show', renamed.revision]);
    const [head, ...lines] = shown.stdout.trimEnd().split('\n');
    assert.match(
      head as string,
      new RegExp(`^revision ${renamed.revision}, 20\\S+Z, by First API key from 127\\.0\\.0\\.1 \\(api\\)$`),
    );
    assert.deepEqual(lines, [`~ https_edge cli.example.com (${edge.body.id})`, '    description: "first" -> "second"']);
    const created = (await postern(['changes', 'show', route.revision])).stdout;
    assert.match(
      created,
      new RegExp(`^\\+ oidc of https_edge_route cli\\.example\\.com/ \\(${route.body.id}\\)$`, 'm'),
    );
    assert.ok(!created.includes('planted-secret'), created);
    const secret = await write('PUT', `${edgePath}/routes/${route.body.id}/oidc`, {
      ...OIDC,
      client_secret: 'next-secret',
    });
    const changed = (await postern(['changes', 'show', secret.revision])).stdout;
    assert.match(changed, /^ {4}client_secret: another secret$/m);
    assert.ok(!changed.includes('-secret'), changed);
    const json = await postern(['changes', 'show', renamed.revision, '-o', 'json']);
    assert.equal(JSON.parse(json.stdout).objects[0].after.description, 'second');
  });

  test('verifies the history, and exits with 1 when it is broken', async () => {
    const intact = await postern(['changes', 'verify']);
    assert.equal(intact.code, 0);
    assert.match(intact.stdout, /^the history is intact: \d+ entr/);
    assert.equal(JSON.parse((await postern(['changes', 'verify', '-o', 'json'])).stdout).intact, true);
    const other = await TestWorld.open({ after });
    await breakHistory(other);
    const broken = await runCommand(['changes', 'verify'], { env: operatorEnv(other) });
    assert.equal(broken.code, 1);
    assert.match(broken.stdout, /^the history is broken at revision \d+: somebody changed this entry/);
  });

  test('says what to do about a wrong command', async () => {
    const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
      [['changes', 'shwo'], 2, /unknown subcommand "shwo"\. Did you mean "?show"?/],
      [['changes', 'show'], 2, /takes one revision, such as postern changes show 42/],
      [['changes', 'show', 'x'], 2, /takes one revision/],
      [['changes', 'show', '999999'], 1, /the history has no change with revision 999999/],
      [['changes', 'verify', '1'], 2, /takes no arguments/],
      [['changes', '--since', 'yesterday'], 2, /--since takes a duration such as 30d/],
      [['changes', '--limit', '0'], 2, /--limit must be a whole number/],
      [['changes', '-o', 'xml'], 2, /--output must be table, json, yaml or id/],
      [['changes', '--author', 'ana'], 1, /author_id/],
      [['confirm', 'x'], 2, /takes one revision, such as postern confirm 42/],
      [['confirm', '1', '2'], 2, /takes one revision, or none/],
      [['confirm', '999999'], 1, /the history has no change with revision 999999/],
      [['confirm'], 1, /no change waits for a confirmation/],
      [['undo'], 2, /takes one revision, such as postern undo 42/],
      [['undo', renamed.revision], 2, /there is no terminal: add --yes/],
      [['undo', '999999', '--yes'], 1, /the history has no change with revision 999999/],
    ];
    for (const [args, code, says] of cases) {
      const result = await postern(args);
      assert.equal(result.code, code, `${args.join(' ')}\n${result.stderr}`);
      assert.match(result.stderr, says);
    }
    const down = { ...env, POSTERN_CLI_API_URL: 'http://127.0.0.1:1' };
    assert.equal((await runCommand(['changes'], { env: down })).code, 3);
  });
});

test('postern confirm keeps the change that waits, which postern changes shows', async () => {
  const operations = [{ method: 'POST', path: '/ip_policies', body: {} }];
  const wait = (message: string) =>
    write('POST', '/changesets', { operations, confirm_within: '1h', message }).then(({ revision }) => revision);
  const first = await wait('risky');
  const listed = await postern(['changes', '--limit', '1']);
  assert.match(listed.stdout, / {2}\(pending\) risky$/m);
  assert.match(listed.stderr, new RegExp(`revision ${first} is reverted at 20\\S+Z .* postern confirm ${first}\n`));
  assert.match((await postern(['changes', 'show', first])).stdout, /unless you confirm it/);
  assert.equal(JSON.parse((await postern(['changes', '-o', 'json'])).stdout).pending.revision, Number(first));
  const confirmed = await postern(['confirm', '--message', 'fine']);
  assert.deepEqual([confirmed.code, confirmed.stdout], [0, `revision ${first} is confirmed and stays\n`]);
  const second = await wait('again');
  assert.equal((await postern(['confirm', second])).code, 0);
  const again = await postern(['confirm', second]);
  assert.deepEqual([again.code, /does not wait/.test(again.stderr)], [1, true]);
});

suite('postern undo', () => {
  const described = async () => (await world.api('GET', edgePath)).body.description;

  test('shows what it restores, asks, and changes nothing without a yes', async () => {
    for (const answer of ['', 'n', 'maybe']) {
      const { code, stdout, stderr } = await postern(['undo', renamed.revision], { answer });
      assert.deepEqual([code, stderr], [1, 'postern: nothing was changed\n'], answer);
      assert.match(stdout, /^ {4}description: "second" -> "first"$/m);
    }
    assert.equal(await described(), 'second');
    const { code, stdout } = await postern(['undo', renamed.revision, '--message', 'a typo'], { answer: 'Yes' });
    assert.equal(code, 0);
    const [, undone] =
      new RegExp(`^revision ${renamed.revision} is undone by revision (\\d+)$`, 'm').exec(stdout) ?? [];
    assert.equal(await described(), 'first');
    assert.match((await postern(['changes', 'show', undone as string])).stdout, /\(undo\)\na typo\n/);
  });

  test('names --force when a later change touched the same documents', async () => {
    const one = await write('PATCH', edgePath, { description: 'one' });
    await write('PATCH', edgePath, { description: 'two' });
    const refused = await postern(['undo', one.revision, '--yes']);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /--force loses the later change/);
    assert.equal((await postern(['undo', one.revision, '--yes', '--force'])).code, 0);
    assert.equal(await described(), 'first');
  });

  test('says that nothing is left to undo before it shows a plan or asks', async () => {
    const { revision } = await write('POST', '/ip_policies', {});
    assert.equal((await postern(['undo', revision, '--yes'])).code, 0);
    const again = await postern(['undo', revision], { ask: () => assert.fail('it asked') });
    assert.deepEqual([again.code, again.stdout], [1, '']);
    assert.equal(
      again.stderr,
      `postern: revision ${revision} leaves nothing to undo: its documents are as before. It was undone already, or changed back\n`,
    );
  });

  test('undoes a creation and a deletion, and says what does not come back', async () => {
    const policy = await write('POST', '/ip_policies', {});
    const created = await postern(['undo', policy.revision, '--yes']);
    assert.match(created.stdout, new RegExp(`^- ip_policy ${policy.body.id}$`, 'm'));
    assert.equal((await world.api('GET', `/ip_policies/${policy.body.id}`)).status, 404);
    const key = await write('POST', '/api_keys', {});
    const operations = [
      { method: 'DELETE', path: `/api_keys/${key.body.id}` },
      { method: 'PATCH', path: edgePath, body: { description: 'third' } },
    ];
    const { revision } = await write('POST', '/changesets', { operations });
    const { code, stderr } = await postern(['undo', revision, '--yes']);
    assert.equal(code, 0);
    assert.match(stderr, new RegExp(`warning: api_key ${key.body.id} does not come back`));
  });
});

/** As somebody with access to the database could. */
async function breakHistory(broken: TestWorld): Promise<void> {
  const location = { engine: 'sqlite', dataDir: broken.dataDir } as const;
  await broken.api('POST', '/ip_policies', {});
  while ((await broken.store.history.unlinked(1)).entries.length > 0) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await querySql(location, "UPDATE history SET message = 'forged'");
}

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rename, utimes, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { operatorEnv, runCommand } from '../cli/run-command.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { startServerProcess } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_API_KEY, TestWorld } from '../support/test-world.ts';

/** A process that does not end must fail the test, not hang it. */
const TIMEOUT_MS = 200_000;

const site = (host: string, body = 'hello'): string => `version: 1
https_edges:
  ${host}:
    hostports: ["${host}:7443"]
    routes:
      /: {backend: {backend: page}}
backends:
  page: {kind: http_response, body: ${body}}
`;

async function openWorld(t: TestContext, text: string) {
  const file = join(await tempDir(t), 'postern-sites.yaml');
  await writeFile(file, text);
  const world = await TestWorld.open(t, { env: { POSTERN_SITES: file } });
  const rewrite = async (next: string): Promise<void> => {
    await writeFile(file, next);
    await world.server.applySites();
  };
  return { world, file, rewrite };
}

async function hosts(world: TestWorld): Promise<readonly string[]> {
  const { body } = await world.api('GET', '/edges/https');
  return (body.https_edges as { hostports: string[] }[]).flatMap(({ hostports }) => hostports).sort();
}

async function nodeProblems(world: TestWorld): Promise<readonly string[]> {
  const { body } = await world.api('GET', '/nodes');
  return body.nodes.flatMap(({ problems }: { problems: string[] }) => problems);
}

async function latestChange(world: TestWorld) {
  return (await world.api('GET', '/changes?limit=1')).body.changes[0];
}

/** One file of several sites. */
const sites = (...names: readonly string[]): string =>
  `version: 1\nhttps_edges:\n${names.map((name) => `  ${name}.localhost:\n    hostports: ["${name}.localhost:7443"]\n    routes: {/: {backend: {backend: page}}}\n`).join('')}backends:\n  page: {kind: http_response, body: hello}\n`;
const localHosts = (...names: readonly string[]): readonly string[] => names.map((name) => `${name}.localhost:7443`);

suite('a server with a file of sites', { timeout: TIMEOUT_MS }, () => {
  test('takes a file when it was written whole', async (t) => {
    const { world, file } = await openWorld(t, site('one.localhost'));
    const whole = `${site('one.localhost').replace('{backend: page}', '{backend: page}, ip_restriction: {ip_policies: [office]}')}ip_policies:\n  office: {rules: {192.0.2.0/24: {}}}\n`;
    const open = site('one.localhost', 'protected since');
    // As a program that writes in place: half of it is a valid file, without the rule.
    await writeFile(file, open);
    const applied = world.server.applySites();
    await sleep(700);
    await writeFile(file, whole);
    await applied;
    const { body } = await world.api('GET', '/backends/http_response');
    assert.equal(body.backends[0].body, 'hello', 'the open form was never applied');
    const { body: edges } = await world.api('GET', '/edges/https');
    assert.equal(edges.https_edges[0].routes[0].ip_restriction.ip_policies.length, 1);
    const startedMs = performance.now();
    await writeFile(`${file}.new`, site('two.localhost'));
    await utimes(`${file}.new`, new Date(), new Date(Date.now() - 5_000));
    await rename(`${file}.new`, file);
    await world.server.applySites();
    assert.deepEqual(await hosts(world), localHosts('two'));
    assert.ok(performance.now() - startedMs < 900, 'a file that was renamed into place is taken at once');
  });

  test('asks before most of the sites are removed, until somebody confirms', async (t) => {
    const { world, file, rewrite } = await openWorld(t, sites('a', 'b', 'c', 'd'));
    assert.equal((await hosts(world)).length, 4);
    await rewrite(sites('a', 'b'));
    assert.deepEqual(await hosts(world), localHosts('a', 'b'), 'half of them stays');
    await rewrite(sites('a', 'b', 'c'));
    for (const [text, problem] of [
      [
        'version: 1\n',
        /^the sites wait for a confirmation: 3 of 3 sites would be removed: a\.localhost, b\.localhost, c\.localhost$/,
      ],
      [sites('c'), /: 2 of 3 sites would be removed: a\.localhost, b\.localhost$/],
      [sites('x'), /: 3 of 3 sites would be removed/],
    ] as const) {
      await rewrite(text);
      assert.deepEqual(await hosts(world), localHosts('a', 'b', 'c'));
      const [found = '', ...others] = await nodeProblems(world);
      assert.match(found, problem);
      assert.deepEqual(others, []);
    }
    const { body } = await world.api('GET', '/problems');
    const shown = body.problems.filter(({ check }: { check: string }) => check === 'nodes');
    assert.match(shown[0].advice, /postern apply -f FILE --prune --owner postern-server.*--sites-may-shrink/);
    const confirmed = ['apply', '-f', file, '--prune', '--owner', 'postern-server', '--yes'];
    const { code, stderr } = await runCommand(confirmed, { env: operatorEnv(world) });
    assert.equal(code, 0, stderr);
    assert.deepEqual(await hosts(world), localHosts('x'));
    await world.server.applySites();
    assert.deepEqual(await nodeProblems(world), []);
    const lines = world.logLines.filter((line) => line.includes('wait for a confirmation'));
    assert.equal(lines.length, 3);
  });

  test('removes them at once if the setting says so', async (t) => {
    const file = join(await tempDir(t), 'postern-sites.yaml');
    await writeFile(file, sites('a', 'b'));
    const world = await TestWorld.open(t, { env: { POSTERN_SITES: file, POSTERN_SITES_MAY_SHRINK: 'true' } });
    await writeFile(file, 'version: 1\n');
    await world.server.applySites();
    assert.deepEqual(await hosts(world), []);
  });

  test('applies it at its start, prunes with the next one, and keeps what others made', async (t) => {
    const { world, file, rewrite } = await openWorld(t, site('one.localhost'));
    assert.deepEqual(await hosts(world), ['one.localhost:7443']);
    const first = await latestChange(world);
    assert.deepEqual(
      [first.author.kind, first.author.via, first.message],
      ['server', 'apply', `sites: ${file}`],
      'the history has one change, by the server',
    );
    await world.api('POST', '/edges/https', { hostports: ['byhand.localhost:7443'] });
    await rewrite(site('two.localhost'));
    assert.deepEqual(await hosts(world), ['byhand.localhost:7443', 'two.localhost:7443']);
    const { revision } = await latestChange(world);
    await rewrite(site('two.localhost'));
    assert.equal((await latestChange(world)).revision, revision, 'the same file changes nothing');
    await Promise.all([rewrite(site('three.localhost')), rewrite(site('three.localhost'))]);
    assert.deepEqual(await hosts(world), ['byhand.localhost:7443', 'three.localhost:7443']);
    const { body } = await world.api('GET', '/changesets/claims?owner=postern-server');
    assert.equal(body.claims.length, 2, 'the objects belong to the owner of the server');
    assert.deepEqual(await nodeProblems(world), []);
  });

  for (const [what, text, line] of [
    ['that is no YAML', 'version: 1\nhttps_edges: [', /^the sites are not applied: \S+sites\.yaml:\d+: /],
    ['with an unknown field', `${site('two.localhost')}nonsense: 1\n`, /sites\.yaml:9: .*nonsense/],
    [
      'with a secret that is not set',
      site('two.localhost').replace(
        '/: {',
        `/: {oidc: {issuer: "https://id.example.com", client_id: a, client_secret: "$\{env:NOT_SET_HERE}"}, `,
      ),
      /NOT_SET_HERE is not set/,
    ],
    // Only the server knows that it has an owner.
    ['that the server rejects', site('byhand.localhost'), /^the sites are not applied: .*team-web/],
  ] as const) {
    test(`changes nothing by a file ${what}, and reports a problem until it is corrected`, async (t) => {
      const { world, rewrite } = await openWorld(t, site('one.localhost'));
      const { body: edge } = await world.api('POST', '/edges/https', { hostports: ['byhand.localhost:7443'] });
      const claims = [{ id: edge.id, name: 'byhand.localhost' }];
      const owned = await world.api('POST', '/changesets', { operations: [], owner: { name: 'team-web', claims } });
      assert.equal(owned.status, 200);
      const { revision } = await latestChange(world);
      await rewrite(text);
      assert.equal((await latestChange(world)).revision, revision);
      const [problem = '', ...others] = await nodeProblems(world);
      assert.match(problem, line);
      assert.deepEqual(others, []);
      const { body } = await world.api('GET', '/problems');
      const shown = body.problems.filter(({ check }: { check: string }) => check === 'nodes');
      assert.equal(shown.length, 1);
      assert.match(shown[0].message, /the sites are not applied: /);
      assert.match(shown[0].advice, /correct the file/);
      await rewrite(site('two.localhost'));
      assert.deepEqual(await nodeProblems(world), []);
      assert.deepEqual(await hosts(world), ['byhand.localhost:7443', 'two.localhost:7443']);
    });
  }

  test('starts without its file, and says so', async (t) => {
    const world = await TestWorld.open(t, { env: { POSTERN_SITES: '/nowhere/postern-sites.yaml' } });
    assert.deepEqual(await nodeProblems(world), [
      'the sites are not applied: cannot read /nowhere/postern-sites.yaml: it does not exist. Check the path',
    ]);
  });

  for (const [what, path] of [
    ['a pipe that nobody writes to', 'pipe.yml'],
    ['a device without an end', '/dev/zero'],
    ['a directory with a pipe', '.'],
  ] as const)
    test(`starts with ${what} as its file, and says so`, { timeout: 60_000 }, async (t) => {
      const folder = await tempDir(t);
      execFileSync('mkfifo', [join(folder, 'pipe.yml')]);
      const world = await TestWorld.open(t, { env: { POSTERN_SITES: resolve(folder, path) } });
      assert.match((await nodeProblems(world)).join(), /^the sites are not applied: \S+ is not a regular file$/);
    });

  test('applies the last state of the file after many signals, once', async (t) => {
    const { world, file } = await openWorld(t, site('one.localhost'));
    const before = (await latestChange(world)).revision;
    const signals = Array.from({ length: 50 }, async (_, index) => {
      if (index === 49) await writeFile(file, site('last.localhost'));
      await world.server.applySites();
    });
    await Promise.all(signals);
    assert.deepEqual(await hosts(world), ['last.localhost:7443']);
    assert.equal((await latestChange(world)).revision, before + 1);
    const lines = world.logLines.filter((line) => /"msg":"[^"]*the sites/.test(line));
    assert.ok(lines.length < 6, `${lines.length} runs`);
  });

  test('is refused where another node shares the database', async (t) => {
    const file = join(await tempDir(t), 'postern-sites.yaml');
    await writeFile(file, site('one.localhost'));
    const database = await freshDatabase(await startPostgres());
    const env = { POSTERN_SECRET_KEY: randomBytes(32).toString('base64'), POSTERN_PEER_LISTEN: '127.0.0.1:0' };
    const open = (name: string, more: Record<string, string>) =>
      TestWorld.open(t, { databaseUrl: database.url, env: { ...env, POSTERN_NODE_NAME: name, ...more } });
    const alone = await open('a', { POSTERN_SITES: file });
    assert.deepEqual(await hosts(alone), ['one.localhost:7443'], 'one node alone applies it');
    const second = join(await tempDir(t), 'postern-sites.yaml');
    await writeFile(second, site('two.localhost'));
    const other = await open('b', { POSTERN_SITES: second });
    t.after(() => database.drop());
    assert.deepEqual(await hosts(other), ['one.localhost:7443']);
    const refused = (await nodeProblems(other)).filter((line) => line.includes('sites'));
    assert.deepEqual(refused.length, 1);
    assert.match(refused[0] ?? '', /because other nodes share the database.*Use "postern apply"/);
  });

  test('applies it again on SIGHUP, without a service manager', async (t) => {
    const folder = await tempDir(t);
    const file = join(folder, 'postern-sites.yaml');
    await writeFile(file, site('one.localhost'));
    const server = startServerProcess(t, join(folder, 'data'), {
      args: ['--sites', file],
      env: { POSTERN_API_KEY: TEST_API_KEY },
    });
    await server.ready();
    const messages = () => server.lines().map(({ msg }) => msg);
    assert(messages().includes('applied the sites'));
    await writeFile(file, site('two.localhost'));
    server.child.kill('SIGHUP');
    const deadlineMs = performance.now() + 60_000;
    while (messages().filter((each) => each === 'applied the sites').length < 2) {
      assert(performance.now() < deadlineMs, server.stdout());
      await sleep(20);
    }
    server.child.kill('SIGTERM');
    assert.deepEqual(await server.exited, { code: 0, signal: null });
  });
});

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { operatorEnv, runCommand } from '../cli/run-command.ts';
import { LoginWorld } from '../support/login-world.ts';

const world = await LoginWorld.open({ after });
const { edge } = world;
const site = await world.site();
const access = `${site.routePath}/access`;
const place = ['--edge', site.edgeId, '--route', site.routeId];
const env = operatorEnv(edge.world);
const RULES = {
  allow: [{ email_domains: ['example.com'] }, { claims: { groups: ['ops', '5'] } }, { guests: true }],
  deny: [{ emails: ['bob@example.com'] }],
};
await edge.api('PUT', access, RULES);
for (const user of ['alice', 'bob']) await world.browser().logIn(site.host, '/', user);

function command(...args: readonly string[]) {
  return runCommand(['access', ...args], { env });
}

function proposal(rules: unknown): string {
  const file = join(edge.world.dataDir, 'proposed.json');
  writeFileSync(file, JSON.stringify(rules));
  return file;
}

suite('a test of access rules', () => {
  const cases: readonly (readonly [object, boolean, string | null, string])[] = [
    [{ email: 'Ana@Example.com' }, true, 'allow[0]', 'allowed'],
    [{ email: 'ana@example.com', email_verified: false }, false, null, 'email_unverified'],
    [{ email: 'bob@example.com', email_verified: false }, false, 'deny[0]', 'denied'],
    [{ email: 'x@other.example', claims: { groups: ['dev', 'ops'] } }, true, 'allow[1]', 'allowed'],
    [{ claims: { groups: 5 } }, true, 'allow[1]', 'allowed'],
    [{ guest: true }, true, 'allow[2]', 'allowed'],
    [{}, false, null, 'no_rule'],
    [{ email: 'ana@example.com', access: { allow: [] } }, false, null, 'no_rules'],
    [{ email: 'bob@example.com', access: { allow: RULES.allow } }, true, 'allow[0]', 'allowed'],
  ];
  for (const [body, allowed, rule, reason] of cases) {
    test(JSON.stringify(body), async () => {
      const { message, ...answer } = await edge.api('POST', `${access}/test`, body);
      assert.deepEqual(answer, { allowed, rule, reason, paths_read_by: null });
      assert.match(message, /^.+\.$/);
    });
  }

  test('says what reads paths on the route, so that odd ones are rejected there', async () => {
    const rules = [{ match_type: 'exact_path', match: '/old', to: '/new' }];
    await edge.api('PUT', `${site.routePath}/redirect`, { rules });
    const { paths_read_by: reader } = await edge.api('POST', `${access}/test`, { guest: true });
    assert.equal(reader, 'redirect rules[0] exact_path /old');
    const { stdout } = await command('test', ...place, '--guest');
    assert.match(
      stdout,
      /^allowed: .+\npaths such as \/a\/\/b are rejected: redirect rules\[0\] exact_path \/old reads paths/,
    );
    await edge.api('PUT', `${site.routePath}/redirect`, { enabled: false, rules });
    assert.equal((await edge.api('POST', `${access}/test`, { guest: true })).paths_read_by, null);
    await edge.api('DELETE', `${site.routePath}/redirect`);
  });

  test('rejects a body that describes nobody in particular, and rules that are not valid', async () => {
    const bodies: readonly (readonly [unknown, RegExp])[] = [
      [{ mail: 'x' }, /mail is not a known field.*email/],
      [{ email: 'a@example.com', guest: true }, /guest describes another requester/],
      [{ service_account_id: `sa_${'0'.repeat(27)}` }, /service account that does not exist/],
      [{ access: { allow: [{}] } }, /has no condition/],
      [{ access: { deny: [{ claims: { id: [7, 2 ** 53] } }] } }, /claims.*too large for a number: write it as a text/],
      [{ access: 'all' }, /access must be an object/],
      [{ claims: 'ops' }, /claims/],
    ];
    for (const [body, message] of bodies) {
      const answer = await edge.world.api('POST', `${access}/test`, body);
      assert.equal(answer.status, 400, JSON.stringify(body));
      assert.match(answer.body.msg, message);
    }
    const { routePath } = await world.site();
    assert.equal((await edge.world.api('POST', `${routePath}/access/test`, {})).status, 404);
  });

  test('needs the scope of reading alone, and a review also that of users', async () => {
    const keyWith = async (...scopes: string[]) => (await edge.api('POST', '/api_keys', { scopes })).token as string;
    const [none, reads, both] = [
      await keyWith('app:read'),
      await keyWith('edges:read'),
      await keyWith('edges:read', 'app:read'),
    ];
    const status = async (method: string, path: string, key: string) =>
      (await edge.world.api(method, `${access}/${path}`, method === 'POST' ? { access: RULES } : undefined, { key }))
        .status;
    assert.deepEqual([await status('POST', 'test', none), await status('POST', 'test', reads)], [403, 200]);
    for (const method of ['GET', 'POST']) {
      const statuses = [none, reads, both].map((key) => status(method, 'review', key));
      assert.deepEqual(await Promise.all(statuses), [403, 403, 200]);
    }
  });
});

suite('a review of access rules', () => {
  const rows = ({ people }: { people: readonly { email: string; allowed: boolean; rule: string | null }[] }) =>
    people
      .map(({ email, allowed, rule }) => [email, allowed, rule])
      .sort((one, other) => String(one[0]).localeCompare(String(other[0])));

  test('lists everybody with a session, by the stored and by proposed rules', async () => {
    await world.browser().logIn(site.host, '/', 'alice');
    const stored = await edge.api('GET', `${access}/review`);
    assert.deepEqual(rows(stored), [
      ['alice@example.com', true, 'allow[0]'],
      ['bob@example.com', false, 'deny[0]'],
    ]);
    assert.match(stored.people[0].application_user.id, /^au_/);
    assert.equal(stored.is_truncated, false);
    const proposed = await edge.api('POST', `${access}/review`, {
      access: { allow: [{ claims: { groups: ['admins'] } }] },
    });
    assert.deepEqual(rows(proposed), [
      ['alice@example.com', true, 'allow[0]'],
      ['bob@example.com', false, null],
    ]);
    assert.deepEqual((await edge.api('GET', access)).deny, RULES.deny);
  });

  test('omits sessions of other edges, and those not used since a time', async () => {
    const other = await world.site();
    await edge.api('PUT', `${other.routePath}/access`, RULES);
    assert.deepEqual(await edge.api('GET', `${other.routePath}/access/review`), { people: [], is_truncated: false });
    const later = new Date(Date.now() + 60_000).toISOString();
    assert.deepEqual((await edge.api('GET', `${access}/review?since=${later}`)).people, []);
    const wrong = await edge.world.api('GET', `${access}/review?since=yesterday`);
    assert.deepEqual([wrong.status, wrong.body.error_code], [400, 'ERR_POSTERN_INVALID_TIME']);
    assert.equal((await edge.world.api('POST', `${access}/review`, {})).status, 400);
  });
});

suite('postern access', () => {
  test('test prints which rule decides, and its exit code says how', async () => {
    const ana = await command(
      'test',
      ...place,
      '--email',
      'x@other.example',
      '--claim',
      'groups=dev',
      '--claim=groups=ops',
    );
    assert.deepEqual([ana.code, ana.stdout], [0, 'allowed: allow[1] lets this account in.\n']);
    const bob = await command('test', ...place, '--email', 'bob@example.com');
    assert.equal(bob.code, 4);
    assert.match(bob.stdout, /^refused: deny\[0\] denies this account/);
    const unverified = await command('test', ...place, '--email', 'ana@example.com', '--unverified', '--json');
    assert.equal(JSON.parse(unverified.stdout).reason, 'email_unverified');
    const guest = await command('test', ...place, '--guest');
    assert.deepEqual([guest.code, guest.stdout], [0, 'allowed: allow[2] lets this account in.\n']);
    const proposed = await command(
      'test',
      ...place,
      '--email',
      'bob@example.com',
      '--from-file',
      proposal({ access: { allow: RULES.allow } }),
    );
    assert.equal(proposed.code, 0);
  });

  test('review lists people, also for a proposed rule', async () => {
    const stored = await command('review', ...place, '--since', '7d');
    assert.equal(stored.code, 0);
    assert.match(stored.stdout, /^EMAIL +ACCESS +RULE +LAST_ACTIVE\n/);
    assert.match(stored.stdout, /^alice@example\.com +allowed +allow\[0\] +\S+$/m);
    assert.match(stored.stdout, /^bob@example\.com +refused +deny\[0\] +\S+$/m);
    assert.match(stored.stdout, /^2 people: 1 allowed, 1 refused\n$/m);
    const proposed = await command('review', ...place, '--from-file', proposal({ allow: [] }));
    assert.match(proposed.stdout, /^2 people: 0 allowed, 2 refused\n$/m);
    const yaml = join(edge.world.dataDir, 'proposed.yaml');
    writeFileSync(yaml, 'access:\n  allow:\n    - emails: [alice@example.com]\n');
    const asYaml = await command('review', ...place, '--from-file', yaml);
    assert.match(asYaml.stdout, /^2 people: 1 allowed, 1 refused\n$/m);
    writeFileSync(yaml, 'allow: [\n');
    assert.match((await command('review', ...place, '--from-file', yaml)).stderr, /neither JSON nor YAML/);
    assert.equal(JSON.parse((await command('review', ...place, '--json')).stdout).people.length, 2);
  });

  test('rejects wrong usage with what to do', async () => {
    const wrong: readonly (readonly [readonly string[], RegExp])[] = [
      [['tset'], /unknown subcommand "tset"\. Did you mean "?test"?/],
      [['test', '--edge', site.edgeId], /--edge ID and --route ID are required/],
      [['test', ...place, '--claim', 'groups'], /--claim groups=ops/],
      [['review', ...place, '--since', 'yesterday'], /--since takes a duration/],
      [['review', ...place, '--from-file', join(edge.world.dataDir, 'none.json')], /cannot read the file/],
      [['review', ...place, '--email', 'x'], /unknown flag --email/],
    ];
    for (const [args, message] of wrong) {
      const result = await command(...args);
      assert.equal(result.code, 2, args.join(' '));
      assert.match(result.stderr, message);
    }
    const rejected = await command('review', ...place, '--from-file', proposal({ allow: [{}] }));
    assert.deepEqual([rejected.code, /has no condition/.test(rejected.stderr)], [1, true]);
  });
});

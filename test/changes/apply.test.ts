import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { operatorEnv, type RunOptions, runCommand } from '../cli/run-command.ts';
import { TestWorld } from '../support/test-world.ts';

const world = await TestWorld.open({ after });
const folder = await mkdtemp(join(tmpdir(), 'postern-apply-'));
after(() => rm(folder, { recursive: true }));
const file = join(folder, 'postern-sites.yaml');
const env = {
  ...operatorEnv(world),
  CLIENT_SECRET: 'planted-secret',
  HOOK_KEY: 'planted-key',
  HOOK: `whsec_${btoa('s'.repeat(32))}`,
};

function postern(args: readonly string[], options: RunOptions = {}) {
  return runCommand(args, { env, ...options });
}

const SITE = `version: 1
owner: team-web
https_edges:
  shop.example.com:
    tls_termination: {min_version: "1.3"}
    routes:
      /:
        backend: {backend: balanced}
        ip_restriction: {ip_policies: [office]}
        oidc: {issuer: "https://id.example.com", client_id: shop, client_secret: "$\{env:CLIENT_SECRET}"}
        access: {allow: [{service_accounts: [nightly]}, {emails: [ana@example.com]}]}
      /healthz:
        match_type: exact_path
        backend: {backend: web}
backends:
  balanced: {kind: weighted, backends: {web: 3, spare: 1}}
  web: {kind: static, address: "127.0.0.1:3000"}
  spare: {kind: http_response, body: sorry, status_code: 503}
ip_policies:
  office:
    rules:
      203.0.113.0/24: {}
      203.0.113.9/32: {action: deny}
reserved_domains:
  shop.example.com: {certificate_management_policy: {authority: internal}}
service_accounts:
  nightly: {}
event_destinations:
  hook:
    target: {webhook: {url: "https://hooks.example.com", secret: "$\{env:HOOK}", headers: {x-key: "$\{env:HOOK_KEY}"}}}
event_subscriptions:
  policies: {sources: [{type: ip_policy_created.v0}], destinations: [hook]}
`;

async function apply(text: string, ...args: readonly string[]) {
  await writeFile(file, text);
  return postern(['apply', '-f', file, '--yes', ...args]);
}

async function plan(text: string, ...args: readonly string[]) {
  await writeFile(file, text);
  return postern(['plan', '-f', file, ...args]);
}

const list = async (path: string, key: string) => (await world.api('GET', path)).body[key];

suite('a file with access rules about addresses that nobody has verified', () => {
  for (const name of ['email', 'user.email', 'primary_email', 'preferred_username'])
    test(`is rejected by plan and by apply, with the field and the remedy: ${name}`, async () => {
      const rules = `access: {deny: [{claims: {"${name}": [ana@example.com]}}], allow: [{email_domains: [example.com]}]}`;
      const text = SITE.replace(/access: .*/, rules);
      for (const { code, stdout, stderr } of [await plan(text), await apply(text)]) {
        assert.equal(code, 1, stdout);
        assert.match(stderr, /access\.deny\.0\.claims.*use emails or email_domains/);
      }
      assert.deepEqual(await list('/edges/https', 'https_edges'), []);
    });
});

suite('a site in a file', () => {
  test('is planned as added, without its secrets, and nothing is stored', async () => {
    const { code, stdout, stderr } = await plan(SITE);
    assert.equal(code, 4, stderr);
    assert.match(stdout, /^\+ https_edge shop.example.com\n/);
    assert.match(stdout, /\n {2}\+ https_edge_route \/\n/);
    assert.match(stdout, /\n {6}oidc.client_secret: set \(secret\)\n/);
    assert.match(stdout, /\n {6}backend.backend: "balanced"\n/);
    assert.match(stdout, /\n13 added\n$/);
    assert.doesNotMatch(`${stdout}${stderr}`, /planted|whsec/);
    assert.deepEqual(await list('/edges/https', 'https_edges'), []);
  });

  test('is applied as one change, which names the message and how it was made', async () => {
    const { code, stdout, stderr } = await apply(SITE, '--message', 'first site');
    assert.equal(code, 0, stderr);
    assert.match(stdout, /\napplied: 13 added \(revision \d+\)\n$/);
    const [change] = (await world.api('GET', '/changes')).body.changes;
    assert.deepEqual([change.message, change.author.via], ['first site', 'apply']);
    const [edge] = await list('/edges/https', 'https_edges');
    const root = edge.routes.find((route: { match: string }) => route.match === '/');
    assert.equal(root.oidc.client_secret, 'planted-secret');
    const [weighted] = await list('/backends/weighted', 'backends');
    assert.deepEqual(new Set(Object.values(weighted.backends)), new Set([1, 3]));
  });

  test('changes nothing when it is applied again, secrets included', async () => {
    const planned = await plan(SITE);
    assert.deepEqual([planned.code, planned.stdout], [0, 'nothing would change\n'], planned.stderr);
    const { code, stdout } = await apply(SITE);
    assert.deepEqual([code, stdout], [0, 'nothing to do\n']);
  });

  test('is exported as a file that changes nothing', async () => {
    const exported = join(folder, 'exported.yaml');
    await postern(['export', '-f', exported]);
    const text = await readFile(exported, 'utf8');
    const variables = Object.fromEntries(
      [...text.matchAll(/\$\{env:(\w+)\}/g)].map(([, name = '']) => [
        name,
        name.endsWith('CLIENT_SECRET') ? env.CLIENT_SECRET : name.endsWith('X_KEY') ? env.HOOK_KEY : env.HOOK,
      ]),
    );
    const { code, stdout, stderr } = await postern(['plan', '-f', exported], { env: { ...env, ...variables } });
    assert.deepEqual([code, stdout], [0, 'nothing would change\n'], stderr);
  });

  test('is planned field by field when it differs', async () => {
    const { code, stdout } = await plan(
      SITE.replace('web: 3', 'web: 5')
        .replace('min_version: "1.3"', 'min_version: "1.2"')
        .replace('client_id: shop', 'client_id: other')
        .replace('      203.0.113.9/32: {action: deny}\n', '')
        .replace(' {certificate_management_policy: {authority: internal}}', ' {}')
        .replace('      /healthz:\n        match_type: exact_path\n        backend: {backend: web}\n', ''),
    );
    assert.equal(code, 4);
    assert.equal(
      stdout,
      [
        '~ https_edge shop.example.com',
        '    tls_termination.min_version: "1.3" -> "1.2"',
        '  ~ https_edge_route /',
        '      oidc.client_id: "shop" -> "other"',
        '  - https_edge_route /healthz',
        '~ weighted balanced',
        '    backends: {"web":3,"spare":1} -> {"web":5,"spare":1}',
        '~ reserved_domain shop.example.com',
        '    certificate_management_policy: {"authority":"internal","private_key_type":"ecdsa"} -> unset',
        '~ ip_policy office',
        '  - ip_policy_rule 203.0.113.9/32',
        '4 changed, 2 removed',
        '',
      ].join('\n'),
    );
  });

  test('shows as JSON what it shows as text', async () => {
    const { code, stdout } = await plan(SITE.replace('web: 3', 'web: 5'), '-o', 'json');
    assert.equal(code, 4);
    const { changes } = JSON.parse(stdout);
    assert.deepEqual(changes, [
      {
        action: 'change',
        kind: 'weighted_backend',
        name: 'balanced',
        fields: [{ path: 'backends', before: { web: 3, spare: 1 }, after: { web: 5, spare: 1 } }],
        children: [],
      },
    ]);
  });

  test('is changed in every way at once, and then as planned', async () => {
    const changed = SITE.replace('web: 3', 'web: 5')
      .replace('    tls_termination: {min_version: "1.3"}\n', '')
      .replace('203.0.113.9/32: {action: deny}', '203.0.113.9/32: {action: allow}')
      .replace(' {certificate_management_policy: {authority: internal}}', ' {}')
      .replace('/healthz:', '/ready:')
      .replace(
        'spare: {kind: http_response, body: sorry, status_code: 503}',
        'spare: {kind: static, address: "127.0.0.1:3001"}',
      );
    const applied = await apply(changed);
    assert.equal(applied.code, 0, applied.stderr);
    assert.match(applied.stdout, /± static spare \(replaced/);
    const again = await plan(changed);
    assert.deepEqual([again.code, again.stdout], [0, 'nothing would change\n'], again.stderr);
    assert.equal((await apply(SITE)).code, 0);
  });

  test('notices another secret, of those that cannot be read too', async () => {
    for (const name of ['CLIENT_SECRET', 'HOOK_KEY']) {
      await writeFile(file, SITE);
      const { code, stdout } = await postern(['plan', '-f', file], { env: { ...env, [name]: 'planted-other' } });
      assert.equal(code, 4);
      assert.match(stdout, /: another value \(secret\)\n/);
      assert.doesNotMatch(stdout, /planted/);
    }
  });

  test('keeps secrets that are not given, and says so; what is new still needs them', async () => {
    const given = Object.fromEntries(Object.entries(env).filter(([name]) => !/^(CLIENT_SECRET|HOOK)/.test(name)));
    const exported = (await postern(['export', '--owner', 'team-web'], { env: given })).stdout;
    await writeFile(file, exported);
    const unchanged = await postern(['plan', '-f', file], { env: given });
    assert.equal(unchanged.code, 0, unchanged.stdout + unchanged.stderr);
    assert.match(unchanged.stderr, /postern-sites.yaml:\d+: the environment variable \w+ is not set: the server keeps/);
    const other = SITE.replace('client_id: shop', 'client_id: shop2').replace(
      '  hook:\n',
      '  hook:\n    metadata: m\n',
    );
    await writeFile(file, other);
    const changed = await postern(['apply', '-f', file, '--yes'], { env: given });
    assert.equal(changed.code, 0, changed.stderr);
    assert.match(changed.stdout, /oidc.client_id: "shop" -> "shop2"/);
    assert.match(changed.stderr, /CLIENT_SECRET is not set: the server keeps the secret that it has\n/);
    const edges = await list('/edges/https', 'https_edges');
    const routes = edges.flatMap((edge: { routes: { oidc: { client_secret: string } | null }[] }) => edge.routes);
    assert.ok(
      routes.some(({ oidc }: { oidc: { client_secret: string } | null }) => oidc?.client_secret === 'planted-secret'),
    );
    // The server compares those that cannot be read.
    assert.equal((await plan(other)).code, 0);
    await writeFile(file, SITE.replace('//hooks.', '//elsewhere.'));
    const redirected = await postern(['plan', '-f', file], { env: given });
    assert.match(redirected.stderr, /headers must be given again, because target.webhook.url changes/);
    // A new object, and a new module of an object that exists.
    for (const text of [
      SITE.replace('  hook:\n', '  hook2:\n').replace('destinations: [hook]', 'destinations: [hook2]'),
      SITE.replace(
        'backend: {backend: web}\n',
        `backend: {backend: web}\n        oidc: {issuer: "https://id.example.com", client_id: b, client_secret: "$\{env:CLIENT_SECRET}"}\n`,
      ),
    ]) {
      await writeFile(file, text);
      const refused = await postern(['plan', '-f', file], { env: given });
      assert.equal(refused.code, 1, refused.stdout);
      assert.match(refused.stderr, /the environment variable \w+ is not set\n/);
    }
    assert.equal((await apply(SITE)).code, 0);
  });

  test('leaves secrets alone that it does not name', async () => {
    const without = SITE.replace(/, client_secret: "[^"]+"/, '').replace(
      /, secret: "[^"]+", headers: \{[^}]+\}"\}/,
      '',
    );
    const { code, stdout, stderr } = await plan(without.replace(/headers: \{[^}]+\}"\}/, 'previous_secret: ""'));
    assert.deepEqual([code, stdout], [0, 'nothing would change\n'], stderr);
  });
});

suite('a file of somebody who does not have the secret', () => {
  const PROVIDERS = `version: 1
owner: team-logins
https_edges:
  logins.example.com:
    routes:
      /oidc:
        oidc: {issuer: "https://id.example.com", client_id: shop, client_secret: "$\{env:CLIENT_SECRET}"}
      /oauth:
        oauth: {provider: {github: {client_id: shop, client_secret: "$\{env:CLIENT_SECRET}"}}}
event_destinations:
  alarms:
    target: {webhook: {url: "https://hooks.example.com", headers: {x-key: "$\{env:HOOK_KEY}"}}}
`;
  const unnamed = PROVIDERS.replaceAll(/, (client_secret|headers): (\{[^}]+\}"\}|"[^"]+")/g, '');
  const blindEnv = Object.fromEntries(Object.entries(env).filter(([name]) => !/SECRET|HOOK/.test(name)));
  const ATTACKS = [
    ['oidc.client_secret', 'oidc.issuer', 'https://id.', 'https://attacker.'],
    [
      'oauth.provider.github.client_secret',
      'oauth.provider.github.client_id',
      '{client_id: shop',
      '{client_id: theirs',
    ],
    ['target.webhook.headers', 'target.webhook.url', 'https://hooks.', 'https://attacker.'],
  ] as const;

  for (const [field, destination, from, to] of ATTACKS) {
    test(`cannot send ${field} elsewhere by changing ${destination}`, async () => {
      const applied = await apply(PROVIDERS);
      assert.equal(applied.code, 0, applied.stderr);
      const { body } = await world.api('POST', '/changesets', { operations: [], dry_run: true });
      for (const text of [unnamed, PROVIDERS]) {
        await writeFile(file, text.replace(from, to));
        for (const command of [['plan'], ['apply', '--yes']]) {
          const { code, stdout, stderr } = await postern([...command, '-f', file], { env: blindEnv });
          assert.equal(code, 1, stdout);
          const problem = `${field} must be given again, because ${destination} changes and the secret would be sent there: write`;
          assert.ok(stderr.includes(problem), stderr);
          assert.doesNotMatch(stdout + stderr, /planted/);
        }
      }
      const now = (await world.api('POST', '/changesets', { operations: [], dry_run: true })).body;
      assert.equal(now.revision, body.revision);
    });
  }

  test('may change the rest, and who has the secret or wants none may change the destination', async () => {
    assert.equal((await apply(PROVIDERS)).code, 0);
    await writeFile(
      file,
      unnamed.replace('https://id.example.com", client_id: shop', 'https://id.example.com", client_id: b'),
    );
    const rest = await postern(['apply', '-f', file, '--yes'], { env: blindEnv });
    assert.equal(rest.code, 0, rest.stderr);
    const secretOf = async () => {
      const edges = await list('/edges/https', 'https_edges');
      const routes = edges.flatMap((edge: { routes: readonly { match: string }[] }) => edge.routes);
      return routes.find(({ match }: { match: string }) => match === '/oidc').oidc.client_secret;
    };
    assert.equal(await secretOf(), 'planted-secret');
    const moved = PROVIDERS.replace('https://id.', 'https://other.');
    assert.equal((await apply(moved)).code, 0);
    const none = unnamed.replace('"https://id.example.com"', '"https://third.example.com", client_secret: ""');
    const emptied = await apply(none);
    assert.equal(emptied.code, 0, emptied.stderr);
    assert.equal(await secretOf(), '');
    assert.equal((await apply('version: 1\nowner: team-logins\n', '--prune')).code, 0);
  });
});

suite('objects that the files do not have', () => {
  test('stay without --prune, and go with it if the owner had them', async () => {
    await world.api('POST', '/ip_policies', { description: 'made by hand' });
    const less = SITE.replace(/ip_policies:\n {2}office:[\s\S]*?reserved_domains/, 'reserved_domains').replace(
      '        ip_restriction: {ip_policies: [office]}\n',
      '',
    );
    const kept = await apply(less);
    assert.equal(kept.code, 0, kept.stderr);
    assert.equal((await list('/ip_policies', 'ip_policies')).length, 2);
    const planned = await plan(less, '--prune');
    assert.match(planned.stdout, /^- ip_policy office\n {2}- ip_policy_rule [\s\S]*1 removed\n$/);
    const pruned = await apply(less, '--prune');
    assert.equal(pruned.code, 0, pruned.stderr);
    const left = (await list('/ip_policies', 'ip_policies')).map(
      ({ description }: { description: string }) => description,
    );
    assert.deepEqual(left, ['made by hand']);
    assert.deepEqual((await apply(less, '--prune')).stdout, 'nothing to do\n');
    assert.equal((await apply(SITE)).code, 0);
  });

  test('are not taken from another owner, unless that is asked for', async () => {
    const other = 'version: 1\nowner: team-b\nservice_accounts:\n  nightly: {}\n';
    const refused = await apply(other);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /other owners apply sa_\w+ \(team-web\)/);
    assert.equal((await apply(other, '--take-over')).code, 0);
    assert.equal((await apply(SITE, '--take-over')).code, 0);
    const { body } = await world.api('GET', '/changesets/claims?owner=team-b');
    assert.deepEqual(body, { claims: [] });
  });

  test('keep their names when one of several with the same description is deleted', async () => {
    const text =
      'version: 1\nowner: team-c\nip_policies:\n  twin: {}\n  twin 2: {description: twin, metadata: second}\n';
    assert.equal((await apply(text)).code, 0);
    const twins = (await list('/ip_policies', 'ip_policies')).filter(
      ({ description }: { description: string }) => description === 'twin',
    );
    const first = twins.find(({ metadata }: { metadata: string }) => metadata === '');
    await world.api('DELETE', `/ip_policies/${first.id}`);
    const { stdout } = await plan(text);
    assert.match(stdout, /^\+ ip_policy twin\n1 added\n$/);
  });
});

suite('postern plan and apply', () => {
  test('name the line of a problem, and change nothing', async () => {
    const route = `oidc: {issuer: "https://id.example.com", client_id: a, client_secret: "$\{env:UNSET_SECRET}"}`;
    const { code, stderr } = await apply(
      `version: 1\nhttps_edges:\n  unset.example.com:\n    routes:\n      /:\n        ${route}\n`,
    );
    assert.equal(code, 1);
    assert.match(stderr, /postern-sites.yaml:\d+: the environment variable UNSET_SECRET is not set/);
    const missing = await plan(SITE.replace('{backend: balanced}', '{backend: nope}'));
    assert.match(missing.stderr, /postern-sites.yaml:8: no object in "backends" is named "nope".*the server has none/);
  });

  test('report what the server rejects, with the operation', async () => {
    const { code, stderr } = await apply(
      'version: 1\nhttps_edges:\n  new.example.com: {hostports: ["new.example.com:9"]}\n',
    );
    assert.equal(code, 1);
    assert.match(stderr, /has port 9, but visitors can use/);
  });

  test('use names that only the server has', async () => {
    const part = 'version: 1\nhttps_edges:\n  part.example.com: {routes: {/: {backend: {backend: web}}}}\n';
    const { code, stderr } = await apply(part);
    assert.equal(code, 0, stderr);
    assert.equal((await plan(part)).code, 0);
  });

  test('go on when something unrelated changes meanwhile, and stop when the difference changes', async () => {
    const text = 'version: 1\nip_policies:\n  raced: {metadata: ours}\n';
    await writeFile(file, text);
    const unrelated = await postern(['apply', '-f', file], {
      ask: async () => {
        await world.api('POST', '/ip_policies', { description: 'unrelated' });
        return 'y';
      },
    });
    assert.equal(unrelated.code, 0, unrelated.stderr);
    const [raced] = (await list('/ip_policies', 'ip_policies')).filter(
      ({ description }: { description: string }) => description === 'raced',
    );
    await writeFile(file, text.replace('ours', 'again ours'));
    const conflict = await postern(['apply', '-f', file], {
      ask: async () => {
        await world.api('PATCH', `/ip_policies/${raced.id}`, { metadata: 'theirs' });
        return 'yes';
      },
    });
    assert.equal(conflict.code, 3);
    assert.match(conflict.stderr, /the difference is another one now: nothing was applied/);
    assert.equal((await world.api('GET', `/ip_policies/${raced.id}`)).body.metadata, 'theirs');
  });

  test('let one of two applies win and tell the other', async () => {
    const [one, two] = [join(folder, 'one.yaml'), join(folder, 'two.yaml')];
    await writeFile(one, 'version: 1\nip_policies:\n  contested: {metadata: one}\n');
    await writeFile(two, 'version: 1\nip_policies:\n  contested: {metadata: two}\n');
    let asked = 0;
    const { promise: both, resolve } = Promise.withResolvers<void>();
    const ask = async () => {
      asked += 1;
      if (asked === 2) resolve();
      await both;
      return 'y';
    };
    const ran = await Promise.all([one, two].map((path) => postern(['apply', '-f', path], { ask })));
    assert.deepEqual(new Set(ran.map(({ code }) => code)), new Set([0, 3]), JSON.stringify(ran));
  });

  test('ask before they change something, and need --yes without a terminal', async () => {
    await writeFile(file, 'version: 1\nip_policies:\n  asked: {}\n');
    const without = await postern(['apply', '-f', file]);
    assert.equal(without.code, 2);
    assert.match(without.stderr, /there is no terminal: add --yes/);
    const declined = await postern(['apply', '-f', file], { ask: async () => 'n' });
    assert.deepEqual([declined.code, declined.stderr], [1, 'postern: nothing was changed\n']);
  });

  test('say honestly what a key without permission cannot compare', async () => {
    const key = await world.api('POST', '/api_keys', {
      scopes: ['edges:read', 'edges:write'],
    });
    const blind = { ...env, POSTERN_CLI_API_KEY: key.body.token };
    const route = `version: 1\nhttps_edges:\n  blind.example.com:\n    routes:\n      /:\n        oidc: {issuer: "https://id.example.com", client_id: a, client_secret: "$\{env:CLIENT_SECRET}"}\n`;
    await writeFile(file, route);
    const first = await postern(['apply', '-f', file, '--yes'], { env: blind });
    assert.equal(first.code, 0, first.stderr);
    const planned = await postern(['plan', '-f', file], { env: blind });
    assert.equal(planned.code, 0, planned.stderr);
    assert.match(planned.stdout, /oidc.client_secret: unknown: this key may not compare secrets/);
    const revision = async () =>
      (await world.api('POST', '/changesets', { operations: [], dry_run: true })).body.revision;
    const before = await revision();
    const again = await postern(['apply', '-f', file, '--yes'], { env: blind });
    assert.equal(again.code, 0, again.stderr);
    assert.equal(await revision(), before);
  });

  for (const [args, expected] of [
    [['plan'], /postern plan needs a file/],
    [['apply', '--yes'], /postern apply needs a file/],
    [['plan', '-f', file, '-o', 'xml'], /--output must be table or json/],
  ] as const) {
    test(`reject ${args.join(' ')}`, async () => {
      const { code, stderr } = await postern(args);
      assert.equal(code, 2);
      assert.match(stderr, expected);
    });
  }

  test('let the server take a change back that nobody confirms', async () => {
    await writeFile(file, 'version: 1\nip_policies:\n  risky: {}\n');
    const { code, stdout, stderr } = await postern(['apply', '-f', file, '--yes', '--confirm-within', '10m']);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /reverts it unless "postern confirm" runs within 10m\n$/);
    const confirmed = await postern(['confirm']);
    assert.equal(confirmed.code, 0, confirmed.stderr);
    const wrong = await postern(['apply', '-f', file, '--yes', '--confirm-within', 'soon']);
    assert.deepEqual([wrong.code, /a duration from .* such as 90s or 1h30m/.test(wrong.stderr)], [2, true]);
  });

  test('need an owner to prune', async () => {
    const { code, stderr } = await apply('version: 1\n', '--prune');
    assert.equal(code, 1);
    assert.match(stderr, /--prune needs an owner/);
  });
});

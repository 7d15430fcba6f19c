import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { examineAgentConfig, readAgentConfig } from '../../src/app/cli/agent/config/read-agent-config.ts';
import { createConfigCommand } from '../../src/app/cli/agent/config-command.ts';
import { moduleForms } from '../../src/app/cli/agent/module-forms.ts';
import { PosternError } from '../../src/kit/errors.ts';
import { isLong } from '../support/share-of-cases.ts';
import { rootPem } from './agent-certificate.ts';
import { anyAgentConfig, asWritten } from './agent-config-arbitrary.ts';
import { AgentWorld } from './agent-world.ts';

const WHOLE = `version: "2"
authtoken: a-token
server_addr: gw.example.com:7444
root_cas: [ca.pem]
metadata: machine 7
remote_management: false
inspect_addr: 127.0.0.1:7041
tunnels:
  web: &web
    addr: 3000
    proto: http
    schemes: [https]
    hostname: app.example.com
    metadata: "1"
    host_header: rewrite
    inspect: false
    oidc: { issuer: https://idp.example.com, client_id: app, client_secret: s3cret, scopes: [email], maximum_duration: 60 }
    ip_restriction:
      allow_cidrs: [10.0.0.0/8]
      deny_cidrs: [10.1.0.0/16, fd00::/8]
    compression: true
  again: *web
  both: { proto: http, addr: 80, schemes: [http, https] }
  db: { proto: tcp, addr: "localhost:5432", remote_port: 20001 }
  mail: { proto: tls, addr: 993, domain: mail.example.com }
  group: { labels: [app=web, zone=a], addr: http://127.0.0.1:8080 }
`;

test('reads a login at the identity host of the server', () => {
  const read = (login: string) =>
    readAgentConfig(`version: 2\ntunnels:\n  a: { addr: 1, proto: http, login: ${login} }\n`, 'f').tunnels[0]?.modules;
  assert.deepEqual([read('true'), read('false')], [{ oidc: {} }, {}]);
});

test('reads a complete file', () => {
  const config = readAgentConfig(WHOLE, 'postern-agent.yaml');
  assert.equal(config.authtoken, 'a-token');
  assert.equal(config.remoteManagement, false);
  const [web, again, both, db, mail, group] = config.tunnels;
  assert.deepEqual({ ...web, name: 'again' }, again, 'an alias stands for what it names');
  assert.deepEqual([web?.schemes, both?.schemes], [['https'], ['http', 'https']]);
  assert.equal(web?.domain, 'app.example.com');
  assert.deepEqual(web?.modules['oidc'], {
    issuer: 'https://idp.example.com',
    client_id: 'app',
    client_secret: 's3cret',
    scopes: ['email'],
    maximum_duration: 60,
  });
  assert.deepEqual(web?.modules['ip_restriction'], { allow: ['10.0.0.0/8'], deny: ['10.1.0.0/16', 'fd00::/8'] });
  assert.deepEqual([db?.proto, db?.addr, db?.remotePort], ['tcp', 'localhost:5432', 20001]);
  assert.deepEqual([mail?.proto, mail?.addr, mail?.domain], ['tls', '993', 'mail.example.com']);
  assert.deepEqual(group?.labels, { app: 'web', zone: 'a' });
});

/** Lines of the file, and the expected messages about them. */
const WRONG: readonly (readonly [string, readonly RegExp[]])[] = [
  ['', [/^f:1: is empty: start the file with "version: 2"$/]],
  ['- a', [/^f:1: must be a map/]],
  ['version: 2\nx: [', [/^f:\d: is not valid YAML \(column \d\): a \[ or \{ is not closed/]],
  ['version: 2\ntunnels: !!js/function x', [/^f:2: is not valid YAML \(column 10\): Unresolved tag/]],
  ['version: 2\nversion: 2', [/^f:2: duplicate key: remove one$/]],
  ['authtoken: x', [/^f:1: version is missing: start the file with "version: 2"$/]],
  ['version: 3', [/^f:1: version must be 2: write version: 2$/]],
  ['version: 2\nauthtokn: x', [/^f:2: unknown key "authtokn"\. Did you mean "authtoken"\? Known keys: version, /]],
  ['version: 2\nauthtoken: 5', [/^f:2: authtoken must be a string: quote it: authtoken: "…"$/]],
  ['version: 2\nauthtoken:', [/^f:2: authtoken is empty: set a value or remove the line$/]],
  ['version: 2\nauthtoken: two words', [/^f:2: authtoken must be 1 to 256 visible ASCII characters on one line$/]],
  ['version: 2\nserver_addr: [a]', [/^f:2: server_addr must be a single value, not a list or a map$/]],
  ['version: 2\nserver_addr: gw', [/^f:2: server_addr must be host:port/]],
  ['version: 2\nroot_cas: ca.pem', [/^f:2: root_cas must be a list: write root_cas: \[ca.pem\]$/]],
  [
    'version: 2\nroot_cas:\n  - a.pem\n  - 5\n  - a.pem',
    [/^f:4: an item of root_cas must be a string/, /^f:5: .* is a duplicate/],
  ],
  [
    'version: 2\nremote_management: "no"',
    [/^f:2: remote_management must be true or false: write remote_management: true$/],
  ],
  ['version: 2\ntunnels: [a]', [/^f:2: tunnels must be a map/]],
  ['version: 2\ntunnels:\n  5: { addr: 1, proto: http }', [/^f:3: a key in tunnels must be a string: quote it$/]],
  ['version: 2\ntunnels:\n  "\\e[2J": { addr: 1, proto: http }', [/^f:3: the name of a tunnel must be/]],
  ['version: 2\ntunnels:\n  a:', [/^f:3: tunnels.a must be a map/]],
  ['version: 2\ntunnels:\n  a: { proto: http }', [/^f:3: tunnels.a.addr is missing/]],
  [
    'version: 2\ntunnels:\n  a:\n    addr: 1',
    [/^f:4: tunnels.a: proto is missing: write proto: http, tcp or tls, or labels$/],
  ],
  ['version: 2\ntunnels:\n  a:\n    addr: 99999\n    proto: http', [/^f:4: tunnels.a: the address "99999" is invalid/]],
  ['version: 2\ntunnels:\n  a:\n    addr: 1\n    proto: https', [/^f:5: use "proto: http"/]],
  [
    'version: 2\ntunnels:\n  a:\n    addr: 1\n    proto: udp',
    [/^f:5: tunnels.a.proto must be one of http, tcp, tls: write proto: http$/],
  ],
  [
    'version: 2\ntunnels:\n  a:\n    addr: 1\n    proto: http\n    labels: [a=b]',
    [/^f:6: tunnels.a: a tunnel has either proto or labels/],
  ],
  [
    'version: 2\ntunnels:\n  a:\n    addr: 1\n    labels: []',
    [/^f:5: tunnels.a.labels is empty: write labels: \[app=web\], or remove it$/],
  ],
  ['version: 2\ntunnels:\n  a:\n    addr: 1\n    labels: [a=1, a=2]', [/^f:5: labels has two values for one name/]],
  [
    'version: 2\ntunnels:\n  a:\n    addr: 1\n    labels: [a=1]\n    domain: x.y',
    [/^f:6: tunnels.a: domain cannot be used with labels/],
  ],
  [
    'version: 2\ntunnels:\n  a:\n    addr: 1\n    labels: [a=1]\n    oidc: {issuer: x, client_id: y}',
    [/^f:6: tunnels.a: oidc cannot be used with labels/],
  ],
  [
    'version: 2\ntunnels:\n  a:\n    addr: 1\n    proto: tcp\n    schemes: [http]',
    [/^f:6: tunnels.a: schemes cannot be used with proto tcp/],
  ],
  [
    'version: 2\ntunnels:\n  a:\n    addr: 1\n    proto: tls\n    remote_port: 5',
    [/^f:6: tunnels.a: remote_port cannot be used with proto tls/],
  ],
  [
    'version: 2\ntunnels:\n  a:\n    addr: 1\n    proto: tcp\n    remote_port: 0',
    [/^f:6: tunnels.a.remote_port must be a whole number from 1 to 65535$/],
  ],
  [
    'version: 2\ntunnels:\n  a:\n    addr: 1\n    proto: http\n    domain: a.b\n    hostname: a.b',
    [/^f:7: hostname is an alias of domain/],
  ],
  [
    'version: 2\ntunnels:\n  a:\n    addr: 1\n    proto: http\n    ip_restriction: {}',
    [/^f:6: ip_restriction has no ranges/],
  ],
  [
    'version: 2\ntunnels:\n  a:\n    addr: 1\n    proto: http\n    ip_restriction: { allow_cidrs: [1.2.3.4] }',
    [/^f:6: an item of tunnels.a.ip_restriction.allow_cidrs must be a CIDR range/],
  ],
  [
    'version: 2\ntunnels:\n  a:\n    addr: 1\n    proto: http\n    oidc: { isuer: x }',
    [
      /^f:6: unknown key "isuer" in tunnels.a.oidc\. Did you mean "issuer"/,
      /oidc.issuer is missing/,
      /oidc.client_id is missing/,
    ],
  ],
  [
    'version: 2\ntunnels:\n  a:\n    addr: 1\n    labels: [a=1]\n    login: true',
    [/^f:6: tunnels.a: login cannot be used with labels/],
  ],
  [
    'version: 2\ntunnels:\n  a:\n    addr: 1\n    proto: http\n    login: true\n    oidc: { issuer: https://x, client_id: y }',
    [/^f:6: login and oidc exclude each other/],
  ],
  [
    'version: 2\ntunnels:\n  a:\n    addr: 1\n    proto: http\n    oidc: {}',
    [/issuer is missing/, /client_id is missing/],
  ],
  ['version: 2\ntunnels:\n  a: &a\n    addr: 1\n    proto: http\n  b: *c', [/^f:\d: /]],
];

test('reports problems with their line and what to write', () => {
  for (const [text, expected] of WRONG) {
    const reading = examineAgentConfig(text, 'f');
    assert.ok(!reading.ok, text);
    assert.equal(reading.problems.length, expected.length, `${text}\n${reading.problems.join('\n')}`);
    for (const [index, pattern] of expected.entries()) assert.match(reading.problems[index] ?? '', pattern, text);
  }
});

test('never repeats a secret of the file in a message', () => {
  const text =
    'version: 2\nauthtoken: "hush hush"\ntunnels:\n  a: { addr: 1, proto: http, oidc: { client_secret: [hush] } }\n';
  const reading = examineAgentConfig(text, 'f');
  assert.ok(!reading.ok);
  assert.doesNotMatch(reading.problems.join('\n'), /hush/);
});

test('reads any file or rejects it with the one error', () => {
  const yamlish = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.json().map((json) => `version: 2\ntunnels: ${json}`),
    fc
      .array(
        fc.constantFrom(
          'version: 2\n',
          'tunnels:\n',
          '  a:\n',
          '    addr: ',
          '&x ',
          '*x',
          '<<: *x\n',
          '- ',
          '{',
          '}',
          '!!binary ',
          'proto: http\n',
          '\t',
          '? ',
          ': ',
          '"',
          '%YAML 1.1\n---\n',
          '5',
          '~\n',
        ),
      )
      .map((parts) => parts.join('')),
    anyAgentConfig().chain((config) => {
      const text = stringify(asWritten(config));
      return fc.tuple(fc.nat(text.length), fc.nat(20), fc.string({ maxLength: 5 })).map(([at, length, put]) => {
        return text.slice(0, at) + put + text.slice(at + length);
      });
    }),
  );
  fc.assert(
    fc.property(yamlish, (text) => {
      try {
        readAgentConfig(text, 'f');
      } catch (error) {
        assert.ok(error instanceof PosternError && error.code === 'ERR_POSTERN_AGENT_CONFIG', String(error));
        assert.match(error.message, /^f:\d+: /);
      }
    }),
    { numRuns: isLong ? 1000 : 200 },
  );
});

test('reads back what was written', () => {
  fc.assert(
    fc.property(anyAgentConfig(), (config) => {
      // A clone has the usual prototypes, which the generated objects lack.
      assert.deepEqual(readAgentConfig(stringify(asWritten(config)), 'f'), structuredClone(config));
    }),
    { numRuns: isLong ? 300 : 60 },
  );
});

test('exponential aliases cost nothing', () => {
  const levels = Array.from(
    { length: 30 },
    (_, level) => `a${level}: &a${level} [${`*a${level - 1}, `.repeat(level === 0 ? 0 : 9)}x]`,
  );
  const reading = examineAgentConfig(`version: 2\n${levels.join('\n')}\ntunnels: *a29\n`, 'f');
  assert.ok(!reading.ok);
});

test('config check shows what would be opened', async () => {
  const files = { 'postern-agent.yaml': WHOLE, 'ca.pem': rootPem };
  const world = new AgentWorld({ files });
  assert.equal(await world.run(createConfigCommand(world.ports), ['check']), 0);
  const extras =
    '(login at https://idp.example.com, allow 10.0.0.0/8, deny 10.1.0.0/16, fd00::/8, compression, not inspected)';
  assert.deepEqual(world.stdout, [
    'postern-agent.yaml is valid.',
    'Server: gw.example.com:7444',
    `web: https://app.example.com → 3000 ${extras}`,
    `again: https://app.example.com → 3000 ${extras}`,
    'both (http): http://(name chosen by the server) → 80',
    'both (https): https://(name chosen by the server) → 80',
    'db: tcp://(server):20001 → localhost:5432',
    'mail: tls://mail.example.com → 993',
    'group: labels app=web,zone=a → http://127.0.0.1:8080',
  ]);
});

test('rejects a list or a module without anything in it: it may be meant as "nobody"', () => {
  let count = 0;
  for (const { key, shape, fields, module } of moduleForms()) {
    const lists = fields.filter(({ kind }) => kind === 'list');
    const written = (inner: string) =>
      shape === 'list' ? [`${key}:${inner}`] : lists.map((field) => `${key}: {${field.key}:${inner}}`);
    const texts = shape === 'switch' ? [] : ['[]', '', ' null', '\n    # somebody\n    '].flatMap(written);
    for (const text of [...texts, ...(shape === 'map' && lists.length > 0 ? [`${key}: {}`] : [])]) {
      if (text.endsWith('{}') && module === 'oidc') continue;
      count += 1;
      const reading = examineAgentConfig(
        `version: 2\ntunnels:\n  a:\n    addr: 1\n    proto: http\n    ${text.replace(':[', ': [')}\n`,
        'f',
      );
      assert.equal(reading.ok, false, text);
    }
  }
  assert.ok(count > 60, String(count));
});

test('config check shows what containers get, and finds what could be meant otherwise', async () => {
  const docker = (text: string) => `version: 2\ndocker:\n  socket: /run/podman/podman.sock\n  defaults:\n${text}`;
  const lines = async (text: string): Promise<readonly string[]> => {
    const world = new AgentWorld({ files: { 'postern-agent.yaml': docker(text) } });
    await world.run(createConfigCommand(world.ports), ['check']);
    return [...world.stdout.slice(3), ...world.stderr];
  };
  assert.deepEqual(await lines('    login: true\n    allow_groups: [ops]\n'), [
    "containers (--docker): labels → /run/podman/podman.sock (login at the server's identity host, groups ops, public ones rejected)",
  ]);
  assert.match(
    (await lines('    allow_groups: []\n'))[0] ?? '',
    /allow_groups is empty: write allow_groups: \[ops\], or remove it/,
  );
  assert.match((await lines('    login: false\n    allow_emails: [a@b.example]\n'))[0] ?? '', /login must be true/);
  assert.match((await lines('    allow_emails: [nobody]\n'))[0] ?? '', /must be an address/);
  assert.match((await lines('    access:\n      allow_groups: [ops]\n'))[0] ?? '', /unknown key "access"/);
  assert.match((await lines('    allow_publik: true\n'))[0] ?? '', /unknown key "allow_publik".*allow_public/);
  const ssh = examineAgentConfig('version: 2\ndocker:\n  socket: ssh://machine\n', 'f');
  assert.match(ssh.ok ? '' : (ssh.problems[0] ?? ''), /unix:\/\/\/PATH or tcp:\/\/HOST:PORT/);
});

test('durations of modules have units, and a number without one is in seconds', () => {
  const config = (value: string) =>
    examineAgentConfig(
      `version: 2\ntunnels:\n  a:\n    addr: 1\n    proto: http\n    circuit_breaker:\n      error_threshold_percentage: 0.5\n      tripped_duration: ${value}\n`,
      'f',
    );
  for (const [value, seconds] of [
    ['90', 90],
    ['90s', 90],
    ['1m30s', 90],
    ['"90"', 90],
  ] as const) {
    const reading = config(value);
    assert.ok(reading.ok, value);
    assert.equal(reading.config.tunnels[0]?.modules['circuit_breaker']?.['tripped_duration'], seconds, value);
  }
  for (const value of ['soon', '250ms', '1.5', '90 s', '-1s']) {
    const reading = config(value);
    assert.match(reading.ok ? value : (reading.problems[0] ?? ''), /^f:8: .*tripped_duration must be a duration.*90s/);
  }
});

test('config check lists all problems, and start the first', async () => {
  const files = { 'postern-agent.yaml': 'version: 1\nauthtokn: x\ntunnels: 5\n' };
  const world = new AgentWorld({ files });
  assert.equal(await world.run(createConfigCommand(world.ports), ['check']), 78);
  assert.equal(world.stderr.length, 3);
  assert.deepEqual(world.stdout, []);
  assert.throws(
    () => readAgentConfig(files['postern-agent.yaml'], 'postern-agent.yaml'),
    /^PosternError: postern-agent.yaml:\d: .* \(and 2 more: postern config check lists them\)$/,
  );
});

test('config check finds missing certificates', async () => {
  const world = new AgentWorld({ files: { 'postern-agent.yaml': 'version: 2\nroot_cas: [gone.pem]\n' } });
  await assert.rejects(world.run(createConfigCommand(world.ports), ['check']), {
    code: 'ERR_POSTERN_AGENT_CONFIG',
    message: 'postern-agent.yaml: root_cas: cannot read the file gone.pem: it does not exist. Check the path',
  });
});

test('reads a folder in place of an address', () => {
  const read = (lines: string) =>
    examineAgentConfig(`version: 2\ntunnels:\n  docs:\n    proto: http\n${lines}`, 'agent.yaml');
  const reading = read('    files: ./site\n    not_found_page: 404.html\n');
  const [docs] = reading.ok ? reading.config.tunnels : [];
  assert.deepEqual(docs?.files, { folder: './site', fallback: null, notFoundPage: '404.html', listing: false });
  for (const [lines, problem] of [
    ['    files: ./site\n    addr: 3000\n', /either an address or a folder/],
    ['    addr: 3000\n    listing: true\n', /listing belongs to a folder/],
    ['    files: ./site\n    fallback: /index.html\n', /must be the path of a file in the folder/],
    ['    domain: a.example.com\n', /addr is missing: write addr: 8080, host:port or a URL, or files/],
  ] as const)
    assert.match(JSON.stringify(read(lines)), problem, lines);
});

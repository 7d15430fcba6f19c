import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import type { Container, Reach } from './container.ts';
import { type Circumstances, wantedTunnels } from './wanted-tunnels.ts';

const REACH: Reach = { hasLoopback: true, networks: new Set(['shared']), own: new Set(['10.0.0.1']) };
const AROUND: Circumstances = {
  allowed: { modules: {}, allowGroups: [], allowEmails: [], allowPublic: true },
  sharedLabels: new Set(),
  reach: REACH,
  others: [],
  held: new Map(),
  maxTunnels: 100,
};
const NETWORK = { id: 'shared', name: 'front', address: '10.0.0.7', address6: '', gateway: '10.0.0.1', mac: '' };

let made = 0;
function container(labels: Record<string, string>, more: Partial<Container> = {}): Container {
  made += 1;
  return {
    id: `${made}`.padStart(64, '0'),
    name: `c${made}`,
    createdAtMs: made,
    labels: new Map(Object.entries(labels)),
    isReady: true,
    networkMode: 'bridge',
    exposed: [80],
    published: [],
    networks: [NETWORK],
    problem: null,
    ...more,
  };
}

function reasons(containers: readonly Container[], around: Partial<Circumstances> = {}): readonly string[] {
  return wantedTunnels(containers, { ...AROUND, ...around }).rejections.map(({ reason }) => reason);
}

function specs(containers: readonly Container[], around: Partial<Circumstances> = {}) {
  return wantedTunnels(containers, { ...AROUND, ...around }).tunnels.map(({ spec }) => spec);
}

const HOST = { 'postern.host': 'app.example.com' };
const PEOPLE = { modules: {}, allowGroups: ['ops', 'dev'], allowEmails: ['Ana@example.com'], allowPublic: true };

suite('the tunnels that containers want', () => {
  test('an own address, and a member of a tunnel group', () => {
    const [own, member] = specs([container({ ...HOST, 'postern.labels': 'app=web, zone=a' })]);
    assert.deepEqual([own?.domain, own?.proto, own?.addr], ['app.example.com', 'https', ['http://10.0.0.7:80']]);
    assert.deepEqual([member?.labels, member?.modules], [{ app: 'web', zone: 'a' }, undefined]);
  });

  test('takes the only exposed port, or the one of the label', () => {
    assert.deepEqual(specs([container(HOST, { exposed: [8080] })])[0]?.addr, ['http://10.0.0.7:8080']);
    assert.match(
      reasons([container(HOST, { exposed: [80, 443] })])[0] ?? '',
      /exposes the ports 80, 443: set postern.port/,
    );
    assert.match(reasons([container(HOST, { exposed: [] })])[0] ?? '', /exposes no port/);
    const labels = { ...HOST, 'postern.port': '443', 'postern.scheme': 'h2c' };
    assert.deepEqual(specs([container(labels, { exposed: [80, 443] })])[0]?.addr, ['h2c://10.0.0.7:443']);
  });

  const REJECTED: Readonly<Record<string, [Record<string, string>, RegExp]>> = {
    'an unknown label': [
      { ...HOST, 'postern.allow-group': 'ops' },
      /"postern.allow-group" is unknown. Did you mean "postern.allow-groups"/,
    ],
    'neither host nor labels': [{ 'postern.port': '80' }, /neither postern.host nor postern.labels/],
    'an empty value': [{ 'postern.host': ' ' }, /is empty/],
    'control characters': [{ 'postern.host': 'a.example.com\u001b[2J' }, /has control characters/],
    'a right-to-left override': [{ 'postern.host': 'a\u202e.example.com' }, /has control characters/],
    'a huge value': [{ 'postern.host': 'a'.repeat(5_000) }, /longer than 4096/],
    'a wildcard': [{ 'postern.host': '*.example.com' }, /must be a host name/],
    'a URL': [{ 'postern.host': 'https://app.example.com/' }, /must be a host name/],
    'an address': [{ 'postern.host': '127.0.0.1' }, /must be a host name/],
    'a port of another form': [{ ...HOST, 'postern.port': '0x50' }, /must be a number/],
    'an address as port': [{ ...HOST, 'postern.port': '80@169.254.169.254' }, /must be a number/],
    'a scheme with an address': [{ ...HOST, 'postern.scheme': 'http://169.254.169.254' }, /must be http, https, h2c/],
    'an unclear login': [{ ...HOST, 'postern.login': 'no' }, /must be true or false/],
    'login and nobody': [{ ...HOST, 'postern.allow-groups': ',' }, /empty item/],
    'login false with a list': [{ ...HOST, 'postern.login': 'false', 'postern.allow-groups': 'ops' }, /contradicts/],
    'a login of a group member': [{ 'postern.labels': 'app=web', 'postern.login': 'true' }, /need postern.host/],
    'labels without a value': [{ 'postern.labels': 'app' }, /NAME=VALUE/],
    'a network it is not in': [{ ...HOST, 'postern.network': 'back' }, /not in the network "back"/],
  };
  for (const [name, [labels, reason]] of Object.entries(REJECTED)) {
    test(`rejects ${name}`, () => {
      assert.match(reasons([container(labels)])[0] ?? 'not rejected', reason);
      assert.deepEqual(specs([container(labels)]), []);
    });
  }

  test('without a login, publishes only where the file allows it', () => {
    const allowed = { modules: {}, allowGroups: [], allowEmails: [], allowPublic: false };
    assert.match(reasons([container(HOST)], { allowed })[0] ?? '', /would be public/);
    assert.deepEqual(specs([container({ ...HOST, 'postern.login': 'true' })], { allowed })[0]?.modules, { oidc: {} });
    const groups = { ...HOST, 'postern.allow-groups': 'ops' };
    assert.deepEqual(specs([container(groups)], { allowed })[0]?.modules, {
      oidc: {},
      access: { allow_groups: ['ops'] },
    });
  });

  test('labels narrow what the file allows, and never widen it', () => {
    const allowed = PEOPLE;
    const modulesOf = (labels: Record<string, string>) =>
      specs([container({ ...HOST, ...labels })], { allowed })[0]?.modules;
    const reasonOf = (labels: Record<string, string>) =>
      reasons([container({ ...HOST, ...labels })], { allowed })[0] ?? '';
    const access = { allow_groups: ['ops', 'dev'], allow_emails: ['Ana@example.com'] };
    assert.deepEqual(modulesOf({}), { oidc: {}, access });
    assert.deepEqual(modulesOf({ 'postern.allow-groups': 'dev' }), { oidc: {}, access: { allow_groups: ['dev'] } });
    assert.deepEqual(modulesOf({ 'postern.allow-emails': 'ANA@example.com' }), {
      oidc: {},
      access: { allow_emails: ['ana@example.com'] },
    });
    assert.match(reasonOf({ 'postern.allow-groups': 'dev,everybody' }), /let in "everybody"/);
    assert.match(reasonOf({ 'postern.allow-emails': 'eve@example.com' }), /let in "eve@example.com"/);
    assert.match(reasonOf({ 'postern.login': 'false' }), /require a login/);
  });

  test('a host belongs to the service that had it first, also of the file, in any spelling', () => {
    const first = container(HOST);
    for (const host of ['app.example.com', 'APP.example.com', 'app']) {
      assert.match(reasons([container({ 'postern.host': host }), first])[0] ?? '', /belongs to container/, host);
      const others = [{ domain: 'App.example.com' }];
      assert.match(reasons([container({ 'postern.host': host })], { others })[0] ?? '', /belongs to the file/, host);
    }
    const held = new Map([['host app.example.com', 'service shop/web']]);
    assert.match(reasons([first], { held })[0] ?? '', /belongs to service shop\/web/);
    assert.deepEqual(specs([container({ 'postern.host': 'app2.example.com' })], { held }).length, 1);
  });

  test('a label belongs to one service, unless the file shares it', () => {
    const pair = [
      container({ 'postern.labels': 'app=web,env=prod' }),
      container({ 'postern.labels': 'app=api,env=prod' }),
      container({ 'postern.labels': 'app=web,stolen=yes' }),
    ];
    const all = reasons(pair);
    assert.equal(all.length, 2);
    assert.match(all[0] ?? '', /env=prod belongs to container .*docker.shared_labels/);
    assert.match(all[1] ?? '', /app=web belongs to/);
    assert.equal(reasons(pair, { sharedLabels: new Set(['env=prod']) }).length, 1);
    assert.equal(reasons(pair.slice(0, 1), { others: [{ labels: { app: 'web' } }] }).length, 1);
  });

  test('a replica with other rights than the older ones gets no requests', () => {
    const compose = { ...HOST, 'com.docker.compose.project': 'p', 'com.docker.compose.service': 'web' };
    const around = { allowed: { modules: {}, allowGroups: [], allowEmails: [], allowPublic: true } };
    const strict = container({ ...compose, 'postern.allow-groups': 'ops' });
    const loose = container(compose, { networks: [{ ...NETWORK, address: '10.0.0.8' }] });
    assert.deepEqual(specs([loose, strict], around)[0]?.addr, ['http://10.0.0.7:80']);
    assert.match(reasons([loose, strict], around)[0] ?? '', /differ from those of an older container/);
  });

  test('a forged name of a service does not reach anything but its own line', () => {
    const forged = container({
      ...HOST,
      'com.docker.compose.project': 'a\u001b[2J',
      'com.docker.compose.service': 'x'.repeat(9_999),
    });
    assert.match(String(specs([forged])[0]?.metadata), /^container c\d+$/);
  });

  test('publishes as many as the agent may have, and says which it left out', () => {
    const many = Array.from({ length: 5 }, (_, at) => container({ 'postern.host': `h${at}.example.com` }));
    const { tunnels, rejections } = wantedTunnels(many, { ...AROUND, maxTunnels: 3 });
    assert.deepEqual([tunnels.length, rejections.length], [3, 2]);
  });

  test('a container that is not ready holds its host and gets no requests', () => {
    const starting = container(HOST, { isReady: false });
    const { tunnels, rejections, holders } = wantedTunnels([starting, container(HOST)], AROUND);
    assert.deepEqual([tunnels, rejections.length, holders.size], [[], 1, 1]);
  });
});

const text = fc.oneof(
  fc.constantFrom(
    'true',
    'false',
    'ops',
    'ops,dev',
    'eve',
    'ana@example.com',
    'eve@example.com',
    'app.example.com',
    'app',
  ),
  fc.constantFrom('app=web', 'app=web,env=prod', '80', '443', 'http', 'https', 'front', 'host', '__proto__', ''),
  fc.string({ unit: 'binary', maxLength: 30 }),
);
const name = fc.oneof(
  fc.constantFrom('host', 'labels', 'port', 'scheme', 'network', 'login', 'allow-groups', 'allow-emails', '__proto__'),
  fc.string({ maxLength: 12 }),
);
const anyLabels = fc
  .array(fc.tuple(name, text), { maxLength: 6 })
  .map((pairs) => Object.fromEntries(pairs.map(([label, value]) => [`postern.${label}`, value])));
const anyAllowed = fc.record({
  modules: fc.constantFrom(
    {},
    { oidc: { issuer: 'https://idp.example.com' } },
    { ip_restriction: { allow: ['10.0.0.0/8'], deny: [] } },
  ),
  allowGroups: fc.subarray(['ops', 'dev']),
  allowEmails: fc.subarray(['ana@example.com', 'Ben@example.com']),
  allowPublic: fc.boolean(),
});

test('whatever the labels say, nobody gets in whom the file keeps out, and every container is published or explained', () => {
  fc.assert(
    fc.property(fc.array(anyLabels, { maxLength: 4 }), anyAllowed, (all, allowed) => {
      const containers = all.map((labels) => container({ 'postern.host': 'app.example.com', ...labels }));
      const { tunnels, rejections } = wantedTunnels(containers, { ...AROUND, allowed });
      for (const { spec } of tunnels) {
        if (spec.labels !== undefined) continue;
        const modules = (spec.modules ?? {}) as Record<string, Record<string, readonly string[]>>;
        for (const [module, settings] of Object.entries(allowed.modules)) assert.deepEqual(modules[module], settings);
        const { allow_groups: groups = [], allow_emails: emails = [] } = modules['access'] ?? {};
        const hasRules = allowed.allowGroups.length + allowed.allowEmails.length > 0;
        if (hasRules) {
          assert.ok(groups.length + emails.length > 0);
          assert.ok(groups.every((group) => allowed.allowGroups.includes(group)));
          const known = allowed.allowEmails.map((email) => email.toLowerCase());
          assert.ok(emails.every((email) => known.includes(email.toLowerCase())));
        }
        const hasLogin = modules['oidc'] !== undefined;
        assert.ok(hasLogin || (allowed.allowPublic && !hasRules));
        assert.ok(hasLogin || modules['access'] === undefined);
        assert.ok(spec.addr.every((addr) => /^(http|https|h2c):\/\/10\.0\.0\.7:\d+$/.test(addr)));
      }
      for (const { reason } of rejections) assert.ok(reason.length < 700 && !/\p{Cc}/u.test(reason), reason);
      const published = new Set(tunnels.map(({ spec }) => spec.metadata));
      const explained = new Set(rejections.map((each) => each.container));
      for (const each of containers) assert.ok(published.has(`container ${each.name}`) || explained.has(each.name));
    }),
    { numRuns: 500 },
  );
});

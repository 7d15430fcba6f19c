import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, suite, test } from 'node:test';
import fc from 'fast-check';
import { connect, type TunnelSpec } from '../../src/tunnel/agent/index.ts';
import { TEST_USERS, type TestUser } from '../../tools/dev-idp/test-users.ts';
import { type Issued, issue } from '../edge/tls/test-authority.ts';
import type { AskOptions } from '../support/edge-clients.ts';
import { newHost } from '../support/edge-world.ts';
import { LoginWorld } from '../support/login-world.ts';
import { isLong } from '../support/share-of-cases.ts';
import { crl } from '../support/test-crl.ts';

/** Explain against traffic, for those who prove who they are, and for tunnels: real handshakes, logins and agents. */
const authtoken = `explained-${randomBytes(24).toString('base64url')}`;
const world = await LoginWorld.open(
  { after },
  {
    env: {
      POSTERN_ROLES: 'api,edge,gateway',
      POSTERN_TUNNEL_LISTEN: '127.0.0.1:0',
      POSTERN_AUTHTOKEN: authtoken,
    },
  },
);
const { edge } = world;
const backend = await edge.staticBackend(world.upstreamAddress);

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers field by field
type Answer = any;

/** What explain says, and what the edge does with the same request. */
async function compare(host: string, question: object, asked: AskOptions = {}): Promise<Answer> {
  const explained: Answer = await edge.api('POST', '/explain', { url: `https://${host}/`, ...question });
  const answer = await edge.ask(host, '/', { rejectUnauthorized: false, ...asked }).catch((error: Error) => error);
  const { outcome } = explained;
  if (answer instanceof Error) {
    const seen = JSON.stringify({ explained, error: answer.message });
    assert.deepEqual([outcome.status, outcome.targets, explained.upstream_request], [undefined, [], null], seen);
    return explained;
  }
  const happened: Answer = await edge.api('GET', `/requests/${String(answer.headers['postern-request-id'])}`);
  const seen = JSON.stringify({ explained, status: answer.status, happened });
  if (outcome.status === undefined) assert.equal(answer.status, 200, seen);
  else assert.equal(answer.status, outcome.status, seen);
  assert.equal(answer.headers['postern-error-code'], outcome.error_code, seen);
  assert.deepEqual(happened.route, explained.route, seen);
  const names = outcome.targets.map(({ name }: Answer) => name);
  if (happened.target === undefined) assert.deepEqual(names, [], seen);
  else assert.ok(names.includes(happened.target), seen);
  const decided = ({ decisions }: Answer): readonly string[] =>
    decisions
      .filter(({ decision, module }: Answer) => decision !== 'skipped' && module !== 'backend')
      .map(({ module, decision, reason, rule }: Answer) => `${module} ${decision} ${reason} ${rule ?? ''}`);
  assert.deepEqual(decided(explained), decided(happened), seen);
  return explained;
}

suite('explain agrees with traffic about client certificates', async () => {
  const root = await issue({ commonName: 'root', isCa: true });
  const stranger = await issue({ commonName: 'stranger', isCa: true });
  const intermediate = await issue({ commonName: 'intermediate', isCa: true, issuer: root });
  const old = await issue({ commonName: 'old', isCa: true, issuer: root, fromDays: -3, toDays: -1 });
  const forServers = await issue({ commonName: 'for servers', isCa: true, usages: ['server'], issuer: root });
  const client = { commonName: 'client', usages: ['client'] as const };
  const good = await issue({ ...client, issuer: root });
  const last = await issue({ commonName: 'last', isCa: true, issuer: root, pathLength: 0 });
  const deep = await issue({ commonName: 'deep', isCa: true, issuer: last });
  const revoked = await issue({ ...client, issuer: root });
  const site = await edge.site(backend);
  const { id } = await edge.api('POST', '/certificate_authorities', {
    ...{ ca_pem: root.certificatePem, crl_mode: 'soft' },
    crl_pem: (await crl({ issuer: root, revoked: [revoked] })).pem,
  });
  await edge.api('PUT', `${site.edgePath}/mutual_tls`, { certificate_authority_ids: [id] });

  const CASES: readonly (readonly [name: string, isAdmitted: boolean, presented: readonly Issued[]])[] = [
    ['of the trusted authority', true, [good]],
    ['without usages', true, [await issue({ commonName: 'plain', issuer: root })]],
    ['below an intermediate', true, [await issue({ ...client, issuer: intermediate }), intermediate]],
    ['below an intermediate that is missing', false, [await issue({ ...client, issuer: intermediate })]],
    ['below an intermediate that expired', false, [await issue({ ...client, issuer: old }), old]],
    ['missing', false, []],
    ['expired', false, [await issue({ ...client, issuer: root, fromDays: -3, toDays: -1 })]],
    ['not yet valid', false, [await issue({ ...client, issuer: root, fromDays: 1 })]],
    ['of a stranger', false, [await issue({ ...client, issuer: stranger }), stranger]],
    ['signed with another key', false, [await issue({ ...client, issuer: { ...root, keys: stranger.keys } })]],
    ['self-signed', false, [await issue(client)]],
    ['below an intermediate for servers', false, [await issue({ ...client, issuer: forServers }), forServers]],
    ['below more authorities than allowed', false, [await issue({ ...client, issuer: deep }), deep, last]],
    ['below as many authorities as allowed', true, [await issue({ ...client, issuer: last }), last]],
    ['for encryption only', false, [await issue({ ...client, issuer: root, mayShakeHands: false })]],
    ['revoked', false, [revoked]],
    ['for servers only', false, [await issue({ ...client, usages: ['server'], issuer: root })]],
    ['issued by one that is no authority', false, [await issue({ ...client, issuer: good }), good]],
  ];
  for (const [name, isAdmitted, presented] of CASES) {
    test(`one that is ${name} is ${isAdmitted ? 'admitted' : 'rejected'}`, async () => {
      const cert = presented.map(({ certificatePem }) => certificatePem).join('');
      const [leaf] = presented;
      const explained = await compare(
        site.host,
        cert === '' ? {} : { client_certificate_pem: cert },
        leaf === undefined ? {} : { cert, key: leaf.keyPem },
      );
      assert.equal(explained.outcome.targets.length, isAdmitted ? 1 : 0, JSON.stringify(explained));
      if (!isAdmitted) assert.deepEqual(explained.decisions[0].module, 'mutual_tls');
    });
  }
});

suite('explain agrees with traffic about people', async () => {
  const site = await world.site({ scopes: ['email', 'profile', 'groups'] });
  const cookies = new Map<string, string>();
  for (const { id } of TEST_USERS) {
    const browser = world.browser();
    assert.equal((await browser.logIn(site.host, '/', id)).status, 200);
    cookies.set(id, browser.jar.header(world.origin(site.host)) ?? '');
  }

  const rule = fc.oneof(
    fc.record({ emails: fc.subarray(['alice@example.com', 'bob@example.com', 'eve@example.com'], { minLength: 1 }) }),
    fc.record({ email_domains: fc.constantFrom(['example.com'], ['other.example']) }),
    fc.record({ claims: fc.record({ groups: fc.subarray(['staff', 'admins', 'guests'], { minLength: 1 }) }) }),
  );
  const [alice, bob] = TEST_USERS as [TestUser, TestUser];
  const onlyAlice = { allow: [{ emails: ['alice@example.com'] }], deny: [] };
  const EXAMPLES: [typeof onlyAlice, TestUser][] = [
    [onlyAlice, alice],
    [onlyAlice, bob],
  ];
  const rules = fc.record({ allow: fc.array(rule, { maxLength: 2 }), deny: fc.array(rule, { maxLength: 1 }) });

  test('a real login passes exactly where "as" does, by the same rule', async () => {
    await fc.assert(
      fc.asyncProperty(rules, fc.constantFrom(...TEST_USERS), async (access, user) => {
        await edge.api('PUT', `${site.routePath}/access`, access);
        const headers = { accept: 'text/html' };
        const cookie = cookies.get(user.id) ?? '';
        await compare(site.host, { headers, as: asOf(user) }, { headers: { ...headers, cookie } });
        // The same with the cookie itself, which an explanation reads and does not use.
        await compare(site.host, { headers: { ...headers, cookie } }, { headers: { ...headers, cookie } });
      }),
      { numRuns: isLong ? 60 : 10, endOnFailure: true, examples: EXAMPLES },
    );
  });

  test('nobody, and somebody whose session is over, are sent to log in', async () => {
    await edge.api('PUT', `${site.routePath}/access`, { allow: [{ emails: ['bob@example.com'] }] });
    const headers = { accept: 'text/html', 'sec-fetch-mode': 'navigate' };
    assert.equal((await compare(site.host, { headers }, { headers })).outcome.status, 302);
    const cookie = cookies.get('bob') ?? '';
    for (const { id } of (await edge.api('GET', '/app/sessions')).application_sessions)
      await edge.api('DELETE', `/app/sessions/${id}`);
    const later = { ...headers, cookie };
    assert.equal((await compare(site.host, { headers: later }, { headers: later })).outcome.status, 302);
  });
});

function asOf({ claims: { email, ...claims } }: TestUser): object {
  return { email, claims };
}

suite('explain agrees with traffic about agents', () => {
  const start = (tunnels: readonly TunnelSpec[]) =>
    connect({
      serverAddr: `127.0.0.1:${edge.world.server.addresses.tunnel?.port}`,
      ...{ authtoken, ca: edge.ca, tunnels },
    });
  const addr = world.upstreamAddress;

  test('a tunnel group with nobody, one agent and two agents', async () => {
    const labels = { app: 'explained' };
    const { id } = await edge.api('POST', '/backends/tunnel_group', { labels });
    const { host } = await edge.site(id);
    assert.equal((await compare(host, {})).outcome.error_code, 'ERR_POSTERN_NO_TUNNEL');
    const one = await start([{ labels, addr }]);
    assert.equal((await compare(host, {})).outcome.targets.length, 1);
    const two = await start([{ labels: { ...labels, also: 'this' }, addr }]);
    const { targets } = (await compare(host, {})).outcome;
    assert.deepEqual(
      targets.map(({ name }: Answer) => name).sort(),
      [one, two].map(({ tunnels }) => tunnels[0]?.id ?? '').sort(),
    );
    await Promise.all([one.close(), two.close()]);
    assert.equal((await compare(host, {})).outcome.status, 503);
  });

  test("an agent's own name with its modules, and the name when the agent is gone", async () => {
    const domain = newHost();
    const open = await start([{ proto: 'https', addr, domain }]);
    const [target] = (await compare(domain, {})).outcome.targets;
    assert.deepEqual([target.name, target.kind], [open.tunnels[0]?.id, 'tunnel']);
    await open.close();
    assert.deepEqual((await compare(domain, {})).outcome.targets, []);
    const modules = { ip_restriction: { allow: ['192.0.2.0/24'], deny: [] } };
    const closed = await start([{ proto: 'https', addr, domain, modules }]);
    assert.equal((await compare(domain, {})).outcome.error_code, 'ERR_POSTERN_ADDRESS_NOT_ALLOWED');
    await closed.close();
  });
});

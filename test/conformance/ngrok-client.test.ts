import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import { Ngrok } from '@ngrok/ngrok-api';
import { createCatalog } from '../../src/control/documents/catalog.ts';
import type { Documents } from '../../src/control/documents/documents.ts';
import { operationsOf } from '../../src/control/documents/operations.ts';
import { resources } from '../../src/control/resources/registry.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { createKsuidSource } from '../../src/kit/text/ksuid.ts';
import { modules } from '../../src/modules/registry.ts';
import type { Lease } from '../../src/store/store.ts';
import { cleanupAfterSuite, type Made, made } from '../concurrency/worlds.ts';
import { feedLogin } from '../support/feed-logins.ts';
import { type InternalCa, openInternalCa } from '../support/internal-ca.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TestWorld } from '../support/test-world.ts';

/** Operations without a method in the client; it must drive all others. */
const NOT_IN_THE_CLIENT = [
  'agent_invitations.create',
  'agent_invitations.delete',
  'agent_invitations.get',
  'agent_invitations.list',
  'agent_invitations.update',
  'alerts.dismiss',
  'alerts.get',
  'alerts.list',
  'backends.test',
  'changes.confirm',
  'changes.get',
  'changes.list',
  'changes.revert',
  'changes.undo',
  'changes.verify',
  'changesets.claims',
  'changesets.create',
  'console_sessions.delete',
  'console_sessions.get',
  'console_sessions.list',
  'search.query',
  'event_deliveries.get',
  'event_deliveries.list',
  'event_deliveries.replay',
  'event_deliveries.replay_matching',
  'event_destinations.pause',
  'event_destinations.resume',
  'event_destinations.test',
  'event_types.list',
  'explain.request',
  'files.create',
  'files.delete',
  'files.get',
  'files.list',
  'files.update',
  'guest_links.create',
  'guest_links.delete',
  'guest_links.get',
  'guest_links.list',
  'guest_links.update',
  // The client reads routes through their edge.
  'https_edge_routes.list',
  'ip_policy_lists.create',
  'ip_policy_lists.delete',
  'ip_policy_lists.get',
  'ip_policy_lists.list',
  'ip_policy_lists.refresh',
  'ip_policy_lists.update',
  'managed_certificates.get',
  'managed_certificates.list',
  'nodes.get',
  'nodes.list',
  'oidc_clients.create',
  'oidc_clients.delete',
  'oidc_clients.get',
  'oidc_clients.list',
  'oidc_clients.update',
  'passkeys.delete',
  'passkeys.get',
  'passkeys.list',
  'problems.check',
  'requests.get',
  'requests.list',
  'series.get',
  'series.routes',
  'service_account_tokens.create',
  'service_account_tokens.delete',
  'service_account_tokens.get',
  'service_account_tokens.list',
  'service_account_tokens.update',
  'service_accounts.create',
  'service_accounts.delete',
  'service_accounts.get',
  'service_accounts.list',
  'service_accounts.update',
  'settings.list',
  'user_accounts.create',
  'user_accounts.delete',
  'user_accounts.get',
  'user_accounts.invite',
  'user_accounts.list',
  'user_accounts.sign_out',
  'user_accounts.update',
  // The client has a method, which corrupts the ids in the map: see the test.
  'weighted.create',
];

const ONLINE_UNTIL_MS = Date.now() + 3_600_000;

/** The client of the retired hosted API from npm, with only its base URL changed. */
suite('@ngrok/ngrok-api 0.11.0', () => {
  const cleanup = cleanupAfterSuite();
  const ksuid = createKsuidSource();
  const newId = (prefix: string): string => `${prefix}_${ksuid(Date.now())}`;
  let world: TestWorld;
  let ngrok: Ngrok;
  let clientKeyId: string;
  let ca: InternalCa;

  before(async () => {
    world = await TestWorld.open(cleanup);
    const { id, token } = made(await world.api('POST', '/api_keys', { description: 'the client' })) as Made & {
      token: string;
    };
    clientKeyId = id;
    ngrok = new Ngrok({ apiToken: token, baseUrl: world.baseUrl });
    ca = await openInternalCa({ dataDir: await tempDir(cleanup), domain: 'apps.test', clock: systemClock });
  });

  /**
   * The client parses every response as JSON, even a 204, and fails with its own SyntaxError from `onRejected`. The
   * interface requires 204 without a body, so 204 it is; what counts is that the operation took effect. A rejection
   * would arrive as an object with `statusCode`, and fails here.
   */
  async function done(call: Promise<void>): Promise<void> {
    await assert.rejects(call, SyntaxError);
  }

  async function gone(call: Promise<void>, path: string): Promise<void> {
    await done(call);
    assert.equal((await world.api('GET', path)).status, 404, path);
  }

  /** Every page size must list the same items, newest first, each once. */
  async function listsCompletely(
    service: { list(beforeId?: string, limit?: string): Promise<{ id: string }[]> },
    expected: readonly string[],
  ): Promise<void> {
    for (const limit of [undefined, '1', '2']) {
      const ids = (await service.list(undefined, limit)).map(({ id }) => id);
      assert.deepEqual(ids, [...expected].sort().reverse());
    }
    const [, second, ...rest] = [...expected].sort().reverse();
    assert.deepEqual(
      (await service.list(second)).map(({ id }) => id),
      rest,
    );
  }

  test('edges, with their modules inline and by themselves', async () => {
    const authority = await ngrok.certificateAuthorities.create({ caPem: ca.otherCaPem, description: 'd' });
    const edges = ngrok.edges.edgesHttps;
    const edge = await edges.create({
      description: 'an edge',
      hostports: ['client.localhost:443'],
      mutualTls: { enabled: true, certificateAuthorityIds: [authority.id] },
      tlsTermination: { minVersion: '1.3' },
    });
    assert.equal(edge.mutualTls?.certificateAuthorities[0]?.id, authority.id);
    assert.deepEqual(edge.tlsTermination, { enabled: true, terminateAt: 'edge', minVersion: '1.3' });
    assert.deepEqual(edge.routes, []);
    assert.deepEqual(await edges.get(edge.id), edge);
    const updated = await edges.update({
      id: edge.id,
      metadata: 'm',
      hostports: ['client.localhost:443', 'two.localhost:443'],
    });
    assert.equal(updated.metadata, 'm');
    assert.equal(updated.description, 'an edge');
    assert.equal(updated.hostports?.length, 2);

    const { httpsEdgeMutualTlsModule: mutualTls, httpsEdgeTlsTerminationModule: termination } = ngrok.edgeModules;
    const replaced = await mutualTls.replace({ id: edge.id, module: { certificateAuthorityIds: [authority.id] } });
    assert.equal(replaced.certificateAuthorities[0]?.uri, `${world.baseUrl}/certificate_authorities/${authority.id}`);
    assert.deepEqual(await mutualTls.get(edge.id), replaced);
    await gone(mutualTls.delete(edge.id), `/edges/https/${edge.id}/mutual_tls`);
    await termination.replace({ id: edge.id, module: { enabled: false } });
    assert.deepEqual(await termination.get(edge.id), { enabled: false, terminateAt: 'edge', minVersion: '1.2' });
    await gone(termination.delete(edge.id), `/edges/https/${edge.id}/tls_termination`);

    const others = [await edges.create({}), await edges.create({ hostports: [] })];
    await listsCompletely(edges, [edge.id, ...others.map(({ id }) => id)]);
    await gone(edges.delete(edge.id), `/edges/https/${edge.id}`);
    await gone(ngrok.certificateAuthorities.delete(authority.id), `/certificate_authorities/${authority.id}`);
  });

  test('routes and every route module', async () => {
    const edge = await ngrok.edges.edgesHttps.create({ hostports: ['routes.localhost:443'] });
    const backend = await ngrok.backends.staticBackends.create({ address: '10.0.0.5:80', tls: { enabled: false } });
    const policy = await ngrok.ipPolicies.create({ description: 'office' });
    const routes = ngrok.edges.edgesHttpsRoutes;
    const route = await routes.create({
      edgeId: edge.id,
      matchType: 'path_prefix',
      match: '/',
      backend: { backendId: backend.id },
      compression: { enabled: true },
    });
    assert.equal(route.edgeId, edge.id);
    assert.equal(route.backend?.backend.uri, `${world.baseUrl}/backends/static/${backend.id}`);
    const item = { edgeId: edge.id, id: route.id };
    assert.deepEqual(await routes.get(item), route);
    const updated = await routes.update({ ...item, matchType: 'exact_path', match: '/exact', description: 'd' });
    assert.deepEqual([updated.match, updated.compression], ['/exact', { enabled: true }]);
    assert.deepEqual((await ngrok.edges.edgesHttps.get(edge.id)).routes, [updated]);

    const { edgeRouteBackendModule, edgeRouteCompressionModule, edgeRouteIpRestrictionModule, edgeRouteOidcModule } =
      ngrok.edgeModules;
    const module = await edgeRouteBackendModule.replace({ ...item, module: { backendId: backend.id, enabled: false } });
    assert.deepEqual([module.enabled, module.backend.id], [false, backend.id]);
    assert.deepEqual(await edgeRouteBackendModule.get(item), module);
    assert.deepEqual(await edgeRouteCompressionModule.replace({ ...item, module: {} }), { enabled: true });
    assert.deepEqual(await edgeRouteCompressionModule.get(item), { enabled: true });
    const restriction = await edgeRouteIpRestrictionModule.replace({ ...item, module: { ipPolicyIds: [policy.id] } });
    assert.equal(restriction.ipPolicies[0]?.id, policy.id);
    assert.deepEqual(await edgeRouteIpRestrictionModule.get(item), restriction);
    const oidc = {
      enabled: true,
      optionsPassthrough: true,
      cookiePrefix: 'c.',
      inactivityTimeout: 60,
      maximumDuration: 4_294_967_295,
      issuer: 'https://accounts.example.com',
      clientId: 'id',
      clientSecret: 'secret',
      scopes: ['openid', 'email'],
    };
    assert.deepEqual(await edgeRouteOidcModule.replace({ ...item, module: oidc }), oidc);
    assert.deepEqual(await edgeRouteOidcModule.get(item), oidc);
    for (const [name, service] of [
      ['backend', edgeRouteBackendModule],
      ['compression', edgeRouteCompressionModule],
      ['ip_restriction', edgeRouteIpRestrictionModule],
      ['oidc', edgeRouteOidcModule],
    ] as const) {
      await gone(service.delete(item), `/edges/https/${edge.id}/routes/${route.id}/${name}`);
    }
    const { edgeRouteOAuthModule } = ngrok.edgeModules;
    const github = { clientId: 'id', clientSecret: 'secret', organizations: ['acme'] };
    const oauth = { maximumDuration: 60, provider: { github } };
    const replaced = await edgeRouteOAuthModule.replace({ ...item, module: oauth } as never);
    assert.deepEqual({ ...replaced.provider.github }.organizations, ['acme']);
    assert.deepEqual(await edgeRouteOAuthModule.get(item), replaced);
    await gone(edgeRouteOAuthModule.delete(item), `/edges/https/${edge.id}/routes/${route.id}/oauth`);
    const { edgeRouteCircuitBreakerModule: breakers } = ngrok.edgeModules;
    const breaker = {
      ...{ enabled: true, errorThresholdPercentage: 0.2, numBuckets: 5 },
      ...{ rollingWindow: 300, trippedDuration: 120, volumeThreshold: 20 },
    };
    const shown = { ...breaker, state: 'closed' };
    assert.deepEqual(await breakers.replace({ ...item, module: breaker } as never), shown);
    assert.deepEqual(await breakers.replace({ ...item, module: shown } as never), shown);
    assert.deepEqual(await breakers.get(item), shown);
    await gone(breakers.delete(item), `/edges/https/${edge.id}/routes/${route.id}/circuit_breaker`);
    const { edgeRouteUserAgentFilterModule: agents } = ngrok.edgeModules;
    const filter = { enabled: true, allow: ['^$'], deny: ['(?i)bot'] };
    assert.deepEqual(await agents.replace({ ...item, module: filter } as never), filter);
    assert.deepEqual(await agents.get(item), filter);
    await gone(agents.delete(item), `/edges/https/${edge.id}/routes/${route.id}/user_agent_filter`);
    const { edgeRouteRequestHeadersModule, edgeRouteResponseHeadersModule } = ngrok.edgeModules;
    const headers = { enabled: true, add: { from: 'edge' }, remove: ['x-debug'] };
    for (const [name, service] of [
      ['request_headers', edgeRouteRequestHeadersModule],
      ['response_headers', edgeRouteResponseHeadersModule],
    ] as const) {
      assert.deepEqual(await service.replace({ ...item, module: headers } as never), headers);
      assert.deepEqual(await service.get(item), headers);
      await gone(service.delete(item), `/edges/https/${edge.id}/routes/${route.id}/${name}`);
    }
    await gone(routes.delete(item), `/edges/https/${edge.id}/routes/${route.id}`);
  });

  test('static and failover backends', async () => {
    const { staticBackends, failoverBackends } = ngrok.backends;
    const first = await staticBackends.create({ address: 'one.example.com:443', tls: { enabled: true } });
    const second = await staticBackends.create({ address: '[2001:db8::1]:443', tls: { enabled: false } });
    assert.deepEqual(await staticBackends.get(first.id), first);
    const moved = await staticBackends.update({
      id: second.id,
      address: 'two.example.com:443',
      tls: { enabled: true },
    });
    assert.deepEqual([moved.address, moved.tls], ['two.example.com:443', { enabled: true }]);
    const failover = await failoverBackends.create({ backends: [first.id, second.id] });
    assert.deepEqual(failover.backends, [first.id, second.id]);
    assert.deepEqual(await failoverBackends.get(failover.id), failover);
    const turned = await failoverBackends.update({ id: failover.id, backends: [second.id, first.id] });
    assert.deepEqual(turned.backends, [second.id, first.id]);
    const others = [
      await failoverBackends.create({ backends: [first.id] }),
      await failoverBackends.create({ backends: [failover.id] }),
    ];
    await listsCompletely(failoverBackends, [failover.id, ...others.map(({ id }) => id)]);
    await assert.rejects(staticBackends.delete(first.id), { statusCode: 409, errorCode: 'ERR_POSTERN_IN_USE' });
    for (const { id } of [...others.reverse(), failover])
      await gone(failoverBackends.delete(id), `/backends/failover/${id}`);
    await gone(staticBackends.delete(first.id), `/backends/static/${first.id}`);
    const all = (await world.api('GET', '/backends/static')).body.backends.map(({ id }: Made) => id);
    await listsCompletely(staticBackends, [
      ...all,
      (await staticBackends.create({ address: 'x.test:1', tls: { enabled: false } })).id,
    ]);
  });

  // The client types these maps as Map, and its own serializer turns a Map into {} before reading it, so callers pass
  // plain objects. It treats keys of maps like field names: camel case becomes snake case on the way out, and "-" and
  // "_" become camel case on the way in. That is the client's doing; keys without either are unaffected.
  test('tunnel group backends: labels arrive, except for their spelling on the way back', async () => {
    const { tunnelGroupBackends } = ngrok.backends;
    const plain = await tunnelGroupBackends.create({ labels: mapOf({ app: 'shop' }) });
    assert.deepEqual(plain.labels, { app: 'shop' });
    const spelled = await tunnelGroupBackends.create({ labels: mapOf({ my_app: 'a', myEnv: 'b' }) });
    assert.deepEqual((await world.api('GET', spelled.uri)).body.labels, { my_app: 'a', my_env: 'b' });
    assert.deepEqual((await tunnelGroupBackends.get(spelled.id)).labels, { myApp: 'a', myEnv: 'b' });
    const updated = await tunnelGroupBackends.update({
      id: plain.id,
      labels: mapOf({ app: 'store' }),
      description: 'd',
    });
    assert.deepEqual(updated.labels, { app: 'store' });
    const third = await tunnelGroupBackends.create({ labels: mapOf({ third: 'c' }) });
    assert.deepEqual(third.tunnels, []);
    await listsCompletely(tunnelGroupBackends, [plain.id, spelled.id, third.id]);
    await gone(tunnelGroupBackends.delete(third.id), `/backends/tunnel_group/${third.id}`);
  });

  test('HTTP response backends: header names arrive, except for their spelling on the way back', async () => {
    const { httpResponseBackends } = ngrok.backends;
    const first = await httpResponseBackends.create({
      body: 'hi',
      headers: mapOf({ 'x-one': '1', server: 's' }),
      statusCode: 201,
    });
    assert.deepEqual((await world.api('GET', first.uri)).body.headers, { 'x-one': '1', server: 's' });
    const { statusCode, headers } = await httpResponseBackends.get(first.id);
    assert.deepEqual([statusCode, headers], [201, { xOne: '1', server: 's' }]);
    const updated = await httpResponseBackends.update({ id: first.id, statusCode: 503 });
    assert.deepEqual([updated.statusCode, updated.body], [503, 'hi']);
    const others = [
      await httpResponseBackends.create({ body: '', headers: mapOf({}) }),
      await httpResponseBackends.create({ body: 'x', headers: mapOf({}) }),
    ];
    await listsCompletely(httpResponseBackends, [first.id, ...others.map(({ id }) => id)]);
    await gone(httpResponseBackends.delete(first.id), `/backends/http_response/${first.id}`);
  });

  test('weighted backends: the client corrupts the ids in the map, and the error names the unknown id', async () => {
    const { weightedBackends, staticBackends } = ngrok.backends;
    const target = await staticBackends.create({ address: 'w.example.com:80', tls: { enabled: false } });
    await assert.rejects(weightedBackends.create({ backends: mapOf({ [target.id]: 1 }) }), (error: ClientError) => {
      assert.equal(error.statusCode, 400);
      assert.equal(error.errorCode, 'ERR_POSTERN_UNKNOWN_REFERENCE');
      assert.equal(error.details.get('field'), '/backends');
      return true;
    });
    const ids: string[] = [];
    for (const weight of [1, 2, 3]) {
      ids.push(made(await world.api('POST', '/backends/weighted', { backends: { [target.id]: weight } })).id);
    }
    const first = ids[0] as string;
    const weights = Object.values((await weightedBackends.get(first)).backends);
    assert.deepEqual(weights, [1]);
    const update = { id: first, description: 'd' } as Parameters<typeof weightedBackends.update>[0];
    assert.equal((await weightedBackends.update(update)).description, 'd');
    await listsCompletely(weightedBackends, ids);
    await gone(weightedBackends.delete(first), `/backends/weighted/${first}`);
  });

  test('certificate authorities, TLS certificates and reserved domains', async () => {
    const { certificateAuthorities, tlsCertificates, reservedDomains } = ngrok;
    const authority = await certificateAuthorities.create({ caPem: ca.otherCaPem });
    assert.ok(authority.subjectCommonName.length > 0);
    assert.ok(authority.keyUsages.includes('key_cert_sign') || authority.keyUsages.length > 0);
    assert.deepEqual(await certificateAuthorities.get(authority.id), authority);
    assert.equal((await certificateAuthorities.update({ id: authority.id, metadata: 'm' })).metadata, 'm');
    const more = [
      await certificateAuthorities.create({ caPem: ca.otherCaPem }),
      await certificateAuthorities.create({ caPem: ca.domainCaPem }),
    ];
    await listsCompletely(certificateAuthorities, [authority.id, ...more.map(({ id }) => id)]);

    const leaf = await ca.mintLeaf({ hosts: ['app.apps.test'], ips: ['127.0.0.1'], days: 30 });
    const upload = { certificatePem: leaf.certificatePem, privateKeyPem: leaf.privateKeyPem };
    const certificate = await tlsCertificates.create({ ...upload, description: 'd' });
    assert.deepEqual(certificate.subjectAlternativeNames, { dnsNames: ['app.apps.test'], ips: ['127.0.0.1'] });
    assert.ok(!('privateKeyPem' in certificate));
    assert.deepEqual(await tlsCertificates.get(certificate.id), certificate);
    assert.equal((await tlsCertificates.update({ id: certificate.id, description: 'e' })).description, 'e');
    const certificates = [certificate, await tlsCertificates.create(upload), await tlsCertificates.create(upload)];
    await listsCompletely(
      tlsCertificates,
      certificates.map(({ id }) => id),
    );

    const domain = await reservedDomains.create({ domain: 'app.apps.test', region: '', certificateId: certificate.id });
    assert.equal(domain.certificate?.id, certificate.id);
    assert.deepEqual(await reservedDomains.get(domain.id), domain);
    assert.equal((await reservedDomains.update({ id: domain.id, metadata: 'm' })).metadata, 'm');
    const domains = [
      domain,
      await reservedDomains.create({ domain: 'b.apps.test', region: '' }),
      await reservedDomains.create({ domain: 'c.apps.test', region: '' }),
    ];
    await listsCompletely(
      reservedDomains,
      domains.map(({ id }) => id),
    );
    await assert.rejects(tlsCertificates.delete(certificate.id), { statusCode: 409 });
    await done(reservedDomains.deleteCertificate(domain.id));
    assert.equal((await reservedDomains.get(domain.id)).certificate, null);
    await done(reservedDomains.deleteCertificateManagementPolicy(domain.id));
    await gone(reservedDomains.delete(domain.id), `/reserved_domains/${domain.id}`);
    await gone(tlsCertificates.delete(certificate.id), `/tls_certificates/${certificate.id}`);
    await gone(certificateAuthorities.delete(authority.id), `/certificate_authorities/${authority.id}`);
  });

  test('IP policies and rules', async () => {
    const { ipPolicies, ipPolicyRules } = ngrok;
    const before = (await ipPolicies.list()).map(({ id }) => id);
    const policy = await ipPolicies.create({ description: 'd' });
    assert.deepEqual(await ipPolicies.get(policy.id), policy);
    assert.equal((await ipPolicies.update({ id: policy.id, metadata: 'm' })).metadata, 'm');
    const policies = [policy, await ipPolicies.create({}), await ipPolicies.create({})];
    await listsCompletely(ipPolicies, [...before, ...policies.map(({ id }) => id)]);
    const rule = await ipPolicyRules.create({ ipPolicyId: policy.id, cidr: '203.0.113.0/24', action: 'deny' });
    assert.deepEqual([rule.ipPolicy.id, rule.action], [policy.id, 'deny']);
    assert.deepEqual(await ipPolicyRules.get(rule.id), rule);
    assert.equal((await ipPolicyRules.update({ id: rule.id, cidr: '2001:db8::/32' })).cidr, '2001:db8::/32');
    const rules = [rule];
    for (const cidr of ['10.0.0.0/8', '10.1.0.0/16'])
      rules.push(await ipPolicyRules.create({ ipPolicyId: policy.id, cidr, action: 'allow' }));
    await listsCompletely(
      ipPolicyRules,
      rules.map(({ id }) => id),
    );
    await gone(ipPolicyRules.delete(rule.id), `/ip_policy_rules/${rule.id}`);
    await gone(ipPolicies.delete(policy.id), `/ip_policies/${policy.id}`);
    assert.deepEqual(await ipPolicyRules.list(), []);
  });

  test('credentials and API keys', async () => {
    const { credentials, apiKeys } = ngrok;
    const services: readonly [string, TokenService][] = [
      ['/credentials', credentials as TokenService],
      ['/api_keys', apiKeys],
    ];
    for (const [path, service] of services) {
      const before = (await service.list()).map(({ id }) => id);
      const first = await service.create({ description: 'd' });
      assert.match(first.token ?? '', /^postern_(cr|ak)_/);
      assert.deepEqual(await service.get(first.id), { ...first, token: null });
      assert.equal((await service.update({ id: first.id, metadata: 'm' })).metadata, 'm');
      const others = [await service.create({}), await service.create({})];
      await listsCompletely(service, [...before, first.id, ...others.map(({ id }) => id)]);
      await gone(service.delete(first.id), `${path}/${first.id}`);
    }
    assert.deepEqual((await credentials.create({ acl: ['bind:*.example.com'] })).acl, ['bind:*.example.com']);
  });

  test('tunnels, over three pages; a tunnel lists the Refs of all its backends, as this client types it', async () => {
    const group = await ngrok.backends.tunnelGroupBackends.create({ labels: mapOf({ paged: 'yes' }) });
    const wider = await ngrok.backends.tunnelGroupBackends.create({ labels: mapOf({ paged: 'yes' }) });
    const session = newId('ts');
    const leases: Lease[] = [];
    for (let made = 0; made < 250; made += 1) {
      leases.push(
        lease('tunnel', newId('tn'), {
          parent: session,
          doc: {
            labels: { paged: 'yes' },
            metadata: `m${made}`,
            region: 'local',
            started_at: new Date().toISOString(),
            forwards_to: 'http://localhost:80',
          },
        }),
      );
    }
    await world.store.presence.put([lease('tunnel_session', session, {}), ...leases]);
    const listed = await ngrok.tunnels.list();
    assert.deepEqual(
      listed.map(({ id }) => id),
      leases
        .map(({ id }) => id)
        .sort()
        .reverse(),
    );
    assert.equal((await ngrok.tunnels.list(undefined, '7')).length, 250);
    const tunnel = await ngrok.tunnels.get(listed[0]?.id);
    assert.deepEqual(tunnel, listed[0]);
    assert.deepEqual(
      (tunnel.backends as unknown as Made[]).map(({ id }) => id),
      [group.id, wider.id],
    );
    assert.equal(tunnel.tunnelSession.id, session);
    assert.equal((await ngrok.backends.tunnelGroupBackends.get(group.id)).tunnels.length, 250);
    await assert.rejects(ngrok.tunnels.get(newId('tn')), { statusCode: 404 });
    await world.store.presence.remove([
      { kind: 'tunnel_session', id: session },
      ...leases.map(({ id }) => ({ kind: 'tunnel' as const, id })),
    ]);
  });

  test('tunnel sessions: list, get, stop, restart, update', async () => {
    const ids = [newId('ts'), newId('ts'), newId('ts')] as const;
    const credential = await ngrok.credentials.create({ acl: [] });
    const doc = {
      agent_version: '1',
      ip: '192.0.2.1',
      metadata: 'm',
      os: 'linux',
      region: 'local',
      started_at: new Date().toISOString(),
      transport: 'tls',
    };
    await world.store.presence.put(ids.map((id) => lease('tunnel_session', id, { credentialId: credential.id, doc })));
    await listsCompletely(ngrok.tunnelSessions, ids);
    const session = await ngrok.tunnelSessions.get(ids[0]);
    assert.deepEqual([session.credential.id, session.agentVersion], [credential.id, '1']);
    world.sessionCommands.length = 0;
    await done(ngrok.tunnelSessions.stop(ids[0]));
    await done(ngrok.tunnelSessions.restart(ids[1]));
    await done(ngrok.tunnelSessions.update({ id: ids[2] }));
    assert.deepEqual(world.sessionCommands, [
      { id: ids[0], command: 'stop' },
      { id: ids[1], command: 'restart' },
      { id: ids[2], command: 'update' },
    ]);
    await assert.rejects(ngrok.tunnelSessions.stop(newId('ts')), { statusCode: 404 });
  });

  test('endpoints', async () => {
    const ids = [newId('ep'), newId('ep'), newId('ep')] as const;
    const now = new Date().toISOString();
    const doc = {
      region: 'local',
      created_at: now,
      updated_at: now,
      public_url: 'https://a.localhost',
      proto: 'https',
      hostport: 'a.localhost:443',
      type: 'ephemeral',
      metadata: '',
      tunnel_id: newId('tn'),
    };
    await world.store.presence.put(ids.map((id) => lease('endpoint', id, { doc })));
    const ofEdges = (await ngrok.endpoints.list()).filter(({ type }) => type === 'edge');
    assert.ok(ofEdges.length > 0);
    await listsCompletely(ngrok.endpoints, [...ids, ...ofEdges.map(({ id }) => id)]);
    assert.equal((await ngrok.endpoints.get(ids[1])).publicUrl, 'https://a.localhost');
  });

  test('event destinations with targets that the client does not know, subscriptions and sources', async () => {
    const { eventDestinations, eventSubscriptions, eventSources } = ngrok;
    const webhook = { url: 'https://hooks.example.com/a', headers: { authorization: 'Bearer x' } };
    const destination = await eventDestinations.create({ format: 'json', target: targetOf({ webhook }) });
    const target = destination.target as unknown as { webhook: { url: string; secret: string }; file: null };
    assert.equal(target.webhook.url, webhook.url);
    assert.match(target.webhook.secret, /^whsec_/);
    assert.equal(target.file, null);
    assert.deepEqual((await eventDestinations.get(destination.id)).target, {
      webhook: { ...webhook, secret: '********', previousSecret: '', headers: { authorization: '********' } },
      file: null,
    });
    // Sending back what was read changes nothing, although the client has only seen masks.
    const read = await eventDestinations.get(destination.id);
    const { headers } = await world.api('GET', destination.uri);
    await eventDestinations.update({ id: read.id, target: read.target, description: '' });
    assert.equal((await world.api('GET', destination.uri)).headers.get('etag'), headers.get('etag'));
    const file = await eventDestinations.create({
      format: 'json',
      target: targetOf({ file: { name: 'audit.ndjson' } }),
    });
    const third = await eventDestinations.create({
      format: 'json',
      target: targetOf({ file: { name: 'more.ndjson' } }),
    });
    await listsCompletely(eventDestinations, [destination.id, file.id, third.id]);
    await gone(eventDestinations.delete(third.id), `/event_destinations/${third.id}`);

    const subscription = await eventSubscriptions.create({
      description: 'd',
      sources: [{ type: 'ip_policy_created.v0' }],
      destinationIds: [destination.id],
    });
    assert.equal(subscription.destinations[0]?.id, destination.id);
    assert.deepEqual(await eventSubscriptions.get(subscription.id), subscription);
    const changed = await eventSubscriptions.update({ id: subscription.id, destinationIds: [destination.id, file.id] });
    assert.equal(changed.destinations.length, 2);
    assert.deepEqual(changed.sources, subscription.sources);
    const others = [
      await eventSubscriptions.create({ sources: [], destinationIds: [] }),
      await eventSubscriptions.create({ sources: [], destinationIds: [] }),
    ];
    await listsCompletely(eventSubscriptions, [subscription.id, ...others.map(({ id }) => id)]);

    const item = { subscriptionId: subscription.id, type: 'ip_policy_updated.v0' };
    const source = await eventSources.create(item);
    assert.deepEqual(source, { type: item.type, uri: `${subscription.uri}/sources/${item.type}` });
    assert.deepEqual(await eventSources.get(item), source);
    assert.deepEqual(await eventSources.update(item), source);
    assert.deepEqual(
      (await eventSources.list({ subscriptionId: subscription.id })).sources.map(({ type }) => type),
      ['ip_policy_created.v0', item.type],
    );
    await assert.rejects(eventSources.create(item), { statusCode: 409 });
    await gone(eventSources.delete(item), `/event_subscriptions/${subscription.id}/sources/${item.type}`);
    await gone(eventSubscriptions.delete(subscription.id), `/event_subscriptions/${subscription.id}`);
  });

  test('application sessions and users', async () => {
    const { applicationSessions, applicationUsers } = ngrok;
    const users = [newId('au'), newId('au'), newId('au')] as const;
    const sessions = [newId('as'), newId('as'), newId('as')] as const;
    const now = new Date().toISOString();
    for (const [at, id] of users.entries()) {
      await feedLogin(world.store, sessions[at] as string, {
        userId: id,
        userDoc: {
          identity_provider: { name: 'p', url: 'https://p.example.com' },
          provider_user_id: `u${at}`,
          username: 'n',
          email: 'e@example.com',
          name: 'N',
          created_at: now,
          last_active: now,
          last_login: now,
        },
        lastActiveMs: Date.now(),
        doc: { public_url: 'https://a.localhost', user_agent: 'ua', ip_address: '192.0.2.1', created_at: now },
      });
    }
    await listsCompletely(applicationUsers, users);
    await listsCompletely(applicationSessions, sessions);
    const session = await applicationSessions.get(sessions[0]);
    assert.deepEqual([session.applicationUser?.id, session.browserSession.userAgent?.raw], [users[0], 'ua']);
    assert.equal((await applicationUsers.get(users[0])).email, 'e@example.com');
    await gone(applicationSessions.delete(sessions[0]), `/app/sessions/${sessions[0]}`);
    await gone(applicationUsers.delete(users[1]), `/app/users/${users[1]}`);
    assert.equal((await world.api('GET', `/app/sessions/${sessions[1]}`)).status, 404);
  });

  test('errors arrive completely: status, code, message and details', async () => {
    const stranger = new Ngrok({ apiToken: 'not-a-key', baseUrl: world.baseUrl });
    const limited = made(await world.api('POST', '/api_keys', { scopes: ['edges:read'] })) as Made & { token: string };
    const reader = new Ngrok({ apiToken: limited.token, baseUrl: world.baseUrl });
    const failures: readonly (readonly [number, string, () => Promise<unknown>])[] = [
      [400, 'ERR_POSTERN_INVALID_BODY', () => ngrok.ipPolicies.create({ descriptoin: 'x' } as never)],
      [400, 'ERR_POSTERN_INVALID_QUERY', () => ngrok.ipPolicies.list(undefined, '101')],
      [401, 'ERR_POSTERN_UNAUTHENTICATED', () => stranger.tunnels.list()],
      [403, 'ERR_POSTERN_FORBIDDEN', () => reader.tunnels.list()],
      [404, 'ERR_POSTERN_NOT_FOUND', () => ngrok.ipPolicies.get('ipp_unknown')],
      [404, 'ERR_POSTERN_UNKNOWN_PATH', () => ngrok.sshCredentials.list()],
    ];
    for (const [status, code, call] of failures) {
      await assert.rejects(call(), (error: ClientError) => {
        assert.deepEqual([error.statusCode, error.errorCode], [status, code]);
        assert.ok(error.msg.length > 10);
        assert.match(error.details.get('operation_id') ?? error.details.get('operationId') ?? '', /^op_/);
        return true;
      });
    }
  });

  test('drove every operation that it has a method for', () => {
    const catalog = createCatalog(resources, modules);
    const all = operationsOf(catalog, null as unknown as Documents).map(({ resource, verb }) => `${resource}.${verb}`);
    const driven = new Set<string>();
    for (const line of world.logLines) {
      const {
        operation,
        status,
        key_id: keyId,
      } = JSON.parse(line) as { operation?: string; status?: number; key_id?: string };
      if (keyId === clientKeyId && operation !== undefined && (status ?? 500) < 300) driven.add(operation);
    }
    const undriven = all.filter((operation) => !driven.has(operation) && !isOfUnknownModule(operation, ngrok));
    assert.deepEqual(undriven.sort(), [...NOT_IN_THE_CLIENT].sort());
  });
});

/** Whether it is about a module that the client has no service for, because Postern added it. */
function isOfUnknownModule(operation: string, { edgeModules }: Ngrok): boolean {
  const services = Object.keys(edgeModules).map((service) => service.toLowerCase());
  const module = modules.find(({ name }) => operation.split('.').length === 3 && operation.split('.')[1] === name);
  const owner = module?.on.includes('handshakes') === true ? 'httpsedge' : 'edgeroute';
  return module !== undefined && !services.includes(`${owner}${module.name.replaceAll('_', '')}module`);
}

type TokenService = Pick<Ngrok['apiKeys'], 'create' | 'delete' | 'get' | 'list' | 'update'>;

interface ClientError {
  readonly statusCode: number;
  readonly errorCode: string;
  readonly msg: string;
  readonly details: Map<string, string>;
}

function mapOf<Value>(entries: Readonly<Record<string, Value>>): Map<string, Value> {
  return entries as unknown as Map<string, Value>;
}

type Target = NonNullable<Parameters<Ngrok['eventDestinations']['create']>[0]['target']>;

function targetOf(target: object): Target {
  return target as unknown as Target;
}

function lease(kind: Lease['kind'], id: string, rest: Partial<Lease>): Lease {
  return { kind, id, parent: null, credentialId: null, bootId: 'boot', expiresAtMs: ONLINE_UNTIL_MS, doc: {}, ...rest };
}

import assert from 'node:assert/strict';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, suite, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { EdgeWorld } from '../../support/edge-world.ts';
import { issue } from '../tls/test-authority.ts';
import { deadAddress, recordingUpstream } from './recording-upstream.ts';

/** Every field of every module, set through the API and effective in the next request. */
const upstream = await recordingUpstream({ after }, 'one');
const other = await recordingUpstream({ after }, 'two');
const world = await EdgeWorld.open({ after });
const one = await world.staticBackend(upstream.address);
const two = await world.staticBackend(other.address);

async function nameOf(host: string, path = '/'): Promise<unknown> {
  const answer = await world.ask(host, path);
  return answer.status === 200 ? JSON.parse(answer.text).name : answer.status;
}

suite('backend', () => {
  test('set, replaced, disabled, enabled, deleted', async () => {
    const { host, routePath } = await world.site();
    const put = (body: object) => world.api('PUT', `${routePath}/backend`, body);
    assert.equal(await nameOf(host), 503);
    await put({ backend_id: one });
    assert.equal(await nameOf(host), 'one');
    await put({ backend_id: two });
    assert.equal(await nameOf(host), 'two');
    await put({ backend_id: two, enabled: false });
    const disabled = await world.ask(host);
    assert.deepEqual([disabled.status, disabled.headers['postern-error-code']], [503, 'ERR_POSTERN_NO_BACKEND']);
    await put({ backend_id: two });
    assert.equal(await nameOf(host), 'two');
    await world.api('DELETE', `${routePath}/backend`);
    assert.equal(await nameOf(host), 503);
  });

  test('without one the access modules come first', async () => {
    const { host, routePath } = await world.site();
    const { policyId } = await world.ipPolicy('allow', '192.0.2.0/24');
    await world.api('PUT', `${routePath}/ip_restriction`, { ip_policy_ids: [policyId] });
    assert.equal(await world.status(host), 403);
  });

  test('the next request uses a changed address', async () => {
    const backend = await world.staticBackend(upstream.address);
    const { host } = await world.site(backend);
    assert.equal(await nameOf(host), 'one');
    await world.api('PATCH', `/backends/static/${backend}`, { address: other.address });
    assert.equal(await nameOf(host), 'two');
  });

  test('http_response: status, headers and body, also to HEAD', async () => {
    const backend = await world.httpResponse('sorry', { status_code: 503, headers: { 'X-Why': 'closed' } });
    const { host } = await world.site(backend);
    const answer = await world.ask(host);
    assert.deepEqual([answer.status, answer.headers['x-why'], answer.text], [503, 'closed', 'sorry']);
    const head = await world.ask(host, '/', { method: 'HEAD' });
    assert.deepEqual([head.status, head.headers['content-length'], head.text], [503, '5', '']);
    await world.api('PATCH', `/backends/http_response/${backend}`, { body: '', status_code: 204, headers: {} });
    const empty = await world.ask(host);
    assert.deepEqual(
      [empty.status, empty.headers['content-length'], empty.headers['x-why']],
      [204, undefined, undefined],
    );
  });

  test('weights hold over many requests, and a weight of 0 gets none', async () => {
    const a = await world.httpResponse('a');
    const b = await world.httpResponse('b');
    const never = await world.httpResponse('never');
    const { id } = await world.api('POST', '/backends/weighted', { backends: { [a]: 3, [b]: 1, [never]: 0 } });
    const { host } = await world.site(id);
    const session = await world.http2(host);
    const counts: Record<string, number> = { a: 0, b: 0 };
    const total = 2000;
    for (let done = 0; done < total; done += 100) {
      const texts = await Promise.all(Array.from({ length: 100 }, () => http2Text(session)));
      for (const text of texts) counts[text] = (counts[text] ?? 0) + 1;
    }
    session.destroy();
    // Five standard deviations: one run in two million fails by chance.
    const deviation = Math.sqrt(total * 0.75 * 0.25);
    assert.equal(counts['never'], undefined);
    assert.ok(Math.abs((counts['a'] as number) - total * 0.75) < 5 * deviation, JSON.stringify(counts));
    await world.api('PATCH', `/backends/weighted/${id}`, { backends: { [b]: 1 } });
    assert.equal((await world.ask(host)).text, 'b');
  });

  test('failover: only when a member cannot be reached, in order, nested', async () => {
    const dead = await world.staticBackend(await deadAddress());
    const failing = await world.httpResponse('broken', { status_code: 500 });
    const { id: group } = await world.api('POST', '/backends/tunnel_group', { labels: { app: 'none' } });
    const { id: inner } = await world.api('POST', '/backends/failover', { backends: [group, dead] });
    const { id } = await world.api('POST', '/backends/failover', { backends: [inner, dead, one, two] });
    const { host } = await world.site(id);
    assert.equal(await nameOf(host), 'one');
    const posted = await world.ask(host, '/', { method: 'POST', body: 'whole body' });
    assert.equal(JSON.parse(posted.text).body, 'whole body');
    await world.api('PATCH', `/backends/failover/${id}`, { backends: [failing, one] });
    assert.equal(await nameOf(host), 500);
    await world.api('PATCH', `/backends/failover/${id}`, { backends: [dead] });
    const answer = await world.ask(host);
    assert.deepEqual([answer.status, answer.headers['postern-error-code']], [502, 'ERR_POSTERN_UPSTREAM_UNREACHABLE']);
    await world.api('PATCH', `/backends/failover/${id}`, { backends: [group] });
    const none = await world.ask(host);
    assert.deepEqual([none.status, none.headers['postern-error-code']], [503, 'ERR_POSTERN_NO_TUNNEL']);
  });

  test('TLS upstream: an untrusted certificate is rejected', async () => {
    const { certificatePem, keyPem } = await issue({
      commonName: 'localhost',
      dnsNames: ['localhost'],
      usages: ['server'],
    });
    let asked = 0;
    const server = createServer({ cert: certificatePem, key: keyPem }, (_request, response) => {
      asked += 1;
      response.end('never');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const backend = await world.staticBackend(`localhost:${(server.address() as AddressInfo).port}`, true);
    const { host } = await world.site(backend);
    const answer = await world.ask(host);
    server.close();
    assert.deepEqual([answer.status, asked], [502, 0]);
    assert.match(await world.metrics(), /postern_edge_upstream_failures_total\{phase="connect"/);
  });
});

suite('compression', () => {
  test('set, disabled, deleted', async () => {
    const { host, routePath } = await world.site(one);
    upstream.answer = (_request, response) => {
      response.setHeader('content-type', 'text/plain');
      response.end('a'.repeat(5000));
    };
    const coding = async () => {
      const answer = await world.ask(host, '/', { headers: { 'accept-encoding': 'gzip' } });
      const { 'content-encoding': name = null } = answer.headers;
      assert.equal((name === 'gzip' ? gunzipSync(answer.body) : answer.body).length, 5000);
      return name;
    };
    assert.equal(await coding(), null);
    await world.api('PUT', `${routePath}/compression`, {});
    assert.equal(await coding(), 'gzip');
    await world.api('PUT', `${routePath}/compression`, { enabled: false });
    assert.equal(await coding(), null);
    await world.api('PUT', `${routePath}/compression`, { enabled: true });
    assert.equal(await coding(), 'gzip');
    await world.api('DELETE', `${routePath}/compression`);
    assert.equal(await coding(), null);
    upstream.answer = null;
  });
});

suite('ip_restriction', () => {
  test('policies, their rules, disabled, deleted', async () => {
    const { host, routePath } = await world.site(one);
    const put = (body: object) => world.api('PUT', `${routePath}/ip_restriction`, body);
    const { policyId, ruleId } = await world.ipPolicy('allow', '127.0.0.0/8');
    const elsewhere = await world.ipPolicy('allow', '192.0.2.0/24');
    await put({ ip_policy_ids: [elsewhere.policyId] });
    assert.equal(await world.status(host), 403);
    await put({ ip_policy_ids: [elsewhere.policyId, policyId] });
    assert.equal(await world.status(host), 200);
    const { id: deny } = await world.api('POST', '/ip_policy_rules', {
      ip_policy_id: policyId,
      action: 'deny',
      cidr: '127.0.0.1/32',
    });
    assert.equal(await world.status(host), 403);
    await world.api('DELETE', `/ip_policy_rules/${deny}`);
    assert.equal(await world.status(host), 200);
    await world.api('DELETE', `/ip_policy_rules/${ruleId}`);
    assert.equal(await world.status(host), 403);
    await put({ ip_policy_ids: [policyId], enabled: false });
    assert.equal(await world.status(host), 200);
    await put({ ip_policy_ids: [policyId] });
    assert.equal(await world.status(host), 403);
    await world.api('DELETE', `${routePath}/ip_restriction`);
    assert.equal(await world.status(host), 200);
    assert.match(await world.metrics(), /postern_edge_refused_total\{[^}]*module="ip_restriction",reason="address"/);
  });
});

suite('tls_termination', () => {
  test('the minimum version, disabled, deleted', async () => {
    const { host, edgePath } = await world.site(one);
    const old = async () => {
      try {
        return await world.status(host, '/', { maxVersion: 'TLSv1.2' });
      } catch {
        return 'no handshake';
      }
    };
    assert.equal(await old(), 200);
    await world.api('PUT', `${edgePath}/tls_termination`, { min_version: '1.3' });
    assert.equal(await old(), 'no handshake');
    assert.equal(await world.status(host), 200);
    await world.api('PUT', `${edgePath}/tls_termination`, { min_version: '1.3', enabled: false });
    assert.equal(await old(), 200);
    await world.api('PUT', `${edgePath}/tls_termination`, { min_version: '1.3' });
    assert.equal(await old(), 'no handshake');
    await world.api('PUT', `${edgePath}/tls_termination`, { min_version: '1.2' });
    assert.equal(await old(), 200);
    await world.api('DELETE', `${edgePath}/tls_termination`);
    assert.equal(await old(), 200);
  });
});

suite('mutual_tls', () => {
  test('authorities, disabled, deleted, and the identity upstream', async () => {
    const { host, edgePath } = await world.site(one);
    const authority = await issue({ commonName: 'the CA', isCa: true });
    const another = await issue({ commonName: 'another CA', isCa: true });
    const person = await issue({ commonName: 'Zoë', issuer: authority, usages: ['client'] });
    const ids = await Promise.all(
      [authority, another].map(async (ca) => {
        const { id } = await world.api('POST', '/certificate_authorities', { ca_pem: ca.certificatePem });
        return id as string;
      }),
    );
    const ask = async (withCertificate: boolean) => {
      try {
        return await world.ask(host, '/', withCertificate ? { cert: person.certificatePem, key: person.keyPem } : {});
      } catch {
        return null;
      }
    };
    const put = (body: object) => world.api('PUT', `${edgePath}/mutual_tls`, body);
    await put({ certificate_authority_ids: [ids[0]] });
    assert.equal(await ask(false), null);
    const admitted = await ask(true);
    assert.equal(admitted?.status, 200);
    const { headers } = JSON.parse(admitted?.text ?? '{}');
    assert.match(headers['client-cert'], /^:[A-Za-z0-9+/=]+:$/);
    assert.deepEqual([headers['postern-mtls-subject-cn'], headers['postern-mtls-issuer-cn']], ['Zo%C3%AB', 'the CA']);
    await put({ certificate_authority_ids: [ids[1]] });
    assert.equal(await ask(true), null);
    await put({ certificate_authority_ids: ids });
    assert.equal((await ask(true))?.status, 200);
    await put({ certificate_authority_ids: ids, enabled: false });
    const open = await ask(true);
    assert.equal(JSON.parse(open?.text ?? '{}').headers['client-cert'], undefined);
    assert.equal((await ask(false))?.status, 200);
    await put({ certificate_authority_ids: ids });
    assert.equal(await ask(false), null);
    await world.api('DELETE', `${edgePath}/mutual_tls`);
    assert.equal((await ask(false))?.status, 200);
    assert.match(await world.metrics(), /postern_edge_handshake_failures_total\{reason="client_certificate/);
  });

  test('upstreams can tell names apart that differ only in spaces at their ends', async () => {
    const { host, edgePath } = await world.site(one);
    const authority = await issue({ commonName: 'the CA', isCa: true });
    const { id } = await world.api('POST', '/certificate_authorities', { ca_pem: authority.certificatePem });
    await world.api('PUT', `${edgePath}/mutual_tls`, { certificate_authority_ids: [id] });
    for (const commonName of ['alice', 'alice ', ' alice', '  alice  ', 'alice%20', 'a lice', 'alice\u00a0', ' ']) {
      const person = await issue({ commonName, issuer: authority, usages: ['client'] });
      const { text } = await world.ask(host, '/', { cert: person.certificatePem, key: person.keyPem });
      const { headers } = JSON.parse(text);
      assert.equal(decodeURIComponent(headers['postern-mtls-subject-cn']), commonName);
    }
  });
});

suite('a module that cannot be prepared', () => {
  test('oidc rejects with a message until it is disabled or deleted, and metrics name it', async () => {
    const { host, routePath, routeId } = await world.site(one);
    const oidc = { issuer: 'https://accounts.example.com' };
    upstream.forget();
    await world.api('PUT', `${routePath}/oidc`, oidc);
    const refused = await world.ask(host, '/', { headers: { accept: 'text/html' } });
    assert.deepEqual([refused.status, refused.headers['postern-error-code']], [503, 'ERR_POSTERN_MODULE_UNAVAILABLE']);
    assert.match(refused.text, /oidc/);
    assert.deepEqual(upstream.seen, []);
    const line = new RegExp(`postern_edge_refused_total\\{[^}]*route="${routeId}",module="oidc",reason="unprepared"`);
    assert.match(await world.metrics(), line);
    await world.api('PUT', `${routePath}/oidc`, { ...oidc, enabled: false });
    assert.equal(await world.status(host), 200);
    await world.api('PUT', `${routePath}/oidc`, oidc);
    assert.equal(await world.status(host), 503);
    await world.api('DELETE', `${routePath}/oidc`);
    assert.equal(await world.status(host), 200);
    assert.ok(
      world.world.logLines.some((text) => text.includes('a route rejects all traffic') && text.includes(routeId)),
    );
  });
});

suite('routes and hosts', () => {
  test('an exact path beats a prefix, the longest prefix wins, deletion is effective immediately', async () => {
    const { host, edgeId } = await world.site(await world.httpResponse('all'));
    const paths: Record<string, string> = {};
    for (const [match, type] of [
      ['/a', 'path_prefix'],
      ['/a/b', 'path_prefix'],
      ['/a/b/c', 'exact_path'],
    ] as const) {
      const path = await world.route(edgeId, match, type);
      await world.api('PUT', `${path}/backend`, { backend_id: await world.httpResponse(`${type} ${match}`) });
      paths[match] = path;
    }
    const text = async (path: string) => (await world.ask(host, path)).text;
    assert.equal(await text('/'), 'all');
    assert.equal(await text('/abc'), 'path_prefix /a');
    assert.equal(await text('/a/b/c?q'), 'exact_path /a/b/c');
    assert.equal(await text('/a/b/c/d'), 'path_prefix /a/b');
    await world.api('DELETE', paths['/a/b/c'] as string);
    assert.equal(await text('/a/b/c'), 'path_prefix /a/b');
    await world.api('PATCH', paths['/a/b'] as string, { match: '/z' });
    assert.equal(await text('/a/b/c'), 'path_prefix /a');
    assert.equal(await text('/z'), 'path_prefix /a/b');
  });

  test('an exact host beats a wildcard, a host moves, an edge is deleted', async () => {
    const wild = await world.site(await world.httpResponse('wild'), '*.wild.localhost');
    const exact = await world.site(await world.httpResponse('exact'), 'a.wild.localhost');
    const text = async (host: string) => (await world.ask(host)).text;
    assert.equal(await text('a.wild.localhost'), 'exact');
    assert.equal(await text('b.wild.localhost'), 'wild');
    await assert.rejects(world.ask('a.b.wild.localhost'), /alert|unrecognized/i);
    await world.api('PATCH', exact.edgePath, { hostports: ['c.wild.localhost:443'] });
    assert.equal(await text('a.wild.localhost'), 'wild');
    assert.equal(await text('c.wild.localhost'), 'exact');
    await world.api('DELETE', exact.edgePath);
    assert.equal(await text('c.wild.localhost'), 'wild');
    await world.api('DELETE', wild.edgePath);
    await assert.rejects(world.ask('b.wild.localhost'), /alert|unrecognized/i);
  });

  test('no route is 404, as a page for people and JSON for programs', async () => {
    const edgeId = await world.edge('empty.localhost');
    assert.ok(edgeId.startsWith('edghts'));
    const html = await world.ask('empty.localhost', '/', { headers: { accept: 'text/html' } });
    assert.deepEqual([html.status, html.headers['content-type']], [404, 'text/html; charset=utf-8']);
    assert.equal(JSON.parse((await world.ask('empty.localhost')).text).error_code, 'ERR_POSTERN_NO_ROUTE');
  });
});

function http2Text(session: Awaited<ReturnType<EdgeWorld['http2']>>): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const stream = session.request({ ':path': '/' });
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    stream.on('end', () => resolve(text)).on('error', reject);
  });
}

import assert from 'node:assert/strict';
import type { ClientHttp2Session, IncomingHttpHeaders } from 'node:http2';
import { after, suite, test } from 'node:test';
import { rawExchange } from '../../edge/traffic/raw-exchange.ts';
import { recordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import { EdgeWorld } from '../../support/edge-world.ts';
import { corpus, filledIn } from './attack-corpus.ts';

/** One upstream behind two routes: everything is open except `/admin`, which denies everybody. */
const upstream = await recordingUpstream({ after });
const world = await EdgeWorld.open({ after });
const backend = await world.staticBackend(upstream.address);
const { host, edgeId } = await world.site(backend);
const guarded = await world.route(edgeId, '/admin');
await world.api('PUT', `${guarded}/backend`, { backend_id: backend });
const { policyId } = await world.ipPolicy('allow', '192.0.2.0/24');
await world.api('PUT', `${guarded}/ip_restriction`, { ip_policy_ids: [policyId] });

suite('paths that bypass a route', () => {
  test('both routes work, so that the rest means something', async () => {
    assert.equal(await world.status(host, '/open'), 200);
    assert.equal(await world.status(host, '/admin'), 403);
    assert.equal(await world.status(host, '/administrator'), 403);
  });

  for (const { path, source } of corpus<{ path: string; source: string }[]>('paths')) {
    test(`${JSON.stringify(path)} over HTTP/1.1 (${source})`, async () => {
      upstream.forget();
      const socket = await world.connect(host);
      const head = `GET ${filledIn(path, host)} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
      const { statuses, bytes } = await rawExchange(socket, head);
      assert.equal(statuses.length, 1, bytes);
      assertUnharmed(statuses[0] as number);
    });

    test(`${JSON.stringify(path)} over HTTP/2 (${source})`, async () => {
      upstream.forget();
      const session = await world.http2(host);
      assertUnharmed(await http2Status(session, filledIn(path, host)));
      session.destroy();
    });
  }
});

/** Rejected, or seen by the upstream as a path that no reading turns into a guarded one. */
function assertUnharmed(status: number): void {
  assert.ok([200, 400, 403].includes(status), `answered ${status}`);
  if (status !== 200) assert.deepEqual(upstream.seen, []);
  for (const { url } of upstream.seen) {
    for (const reading of readings(url)) assert.doesNotMatch(reading, /^\/+admin/i, `${url} can be read as ${reading}`);
  }
}

/** How different upstreams read a target: decoded once, backslashes as slashes, parameters dropped, dots resolved. */
function readings(url: string): readonly string[] {
  const path = url.split('?')[0] as string;
  const all = new Set([path]);
  for (const change of [
    (text: string) =>
      text.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    (text: string) => text.replaceAll('\\', '/'),
    (text: string) => text.replaceAll(/;[^/]*/g, ''),
    (text: string) => text.replace(/[#\0].*/s, ''),
    (text: string) => text.replaceAll(/[\t\r\n]/g, ''),
    withoutDots,
  ]) {
    for (const text of [...all]) all.add(change(text));
  }
  return [...all];
}

function withoutDots(path: string): string {
  const kept: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') kept.pop();
    else if (segment !== '.' && segment !== '') kept.push(segment);
  }
  return `/${kept.join('/')}`;
}

function http2Status(session: ClientHttp2Session, path: string): Promise<number> {
  return new Promise((resolve) => {
    const stream = session.request({ ':path': path });
    stream.on('response', (headers: IncomingHttpHeaders) => resolve(Number(headers[':status'])));
    // Rejected by the runtime before anybody saw it.
    stream.on('error', () => resolve(400)).on('close', () => resolve(400));
    stream.resume().end();
  });
}

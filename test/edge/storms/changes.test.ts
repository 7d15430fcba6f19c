import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { EdgeWorld, newHost } from '../../support/edge-world.ts';
import { isLong } from '../../support/share-of-cases.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';
import { echoingWebSockets, openWebSocket, openWebSocketOverHttp2, type WebSocketEnd } from '../traffic/web-socket.ts';

const SOCKETS = isLong ? 100 : 40;
const CHANGES = isLong ? 250 : 90;
const CHANGES_PER_SECOND = 50;

const upstream = await recordingUpstream({ after });
echoingWebSockets(upstream);
const world = await EdgeWorld.open({ after });
const backend = await world.staticBackend(upstream.address);
const { host } = await world.site(backend);

/** Each changes something that other hosts use, or their number, and nothing of this one. */
async function changesOfOtherHosts(): Promise<readonly ((at: number) => Promise<unknown>)[]> {
  const other = await world.site(backend);
  const third = await world.site(await world.httpResponse('other'));
  const { policyId } = await world.ipPolicy('deny', '192.0.2.0/24');
  return [
    (at) => world.api('PUT', `${other.routePath}/compression`, { enabled: at % 2 === 0 }),
    (at) => world.api('PATCH', other.edgePath, { description: `change ${at}` }),
    (at) => world.api('PUT', `${third.edgePath}/tls_termination`, { min_version: at % 2 === 0 ? '1.2' : '1.3' }),
    (at) =>
      world.api('POST', '/ip_policy_rules', { ip_policy_id: policyId, action: 'deny', cidr: `198.51.100.${at}/32` }),
    (at) => world.api('PUT', `${other.routePath}/ip_restriction`, { ip_policy_ids: [policyId], enabled: at % 2 === 0 }),
    // Also a wildcard beside the host, and an edge that is created with its route and deleted.
    async () => {
      const { edgePath } = await world.site(backend, `*.${newHost()}`);
      await world.api('DELETE', edgePath);
    },
  ];
}

async function openSockets(): Promise<readonly WebSocketEnd[]> {
  const sessions = [await world.http2(host), await world.http2(host)];
  const opening = Array.from({ length: SOCKETS }, async (_, at) => {
    const session = at % 2 === 0 ? sessions[at % 4 === 0 ? 0 : 1] : undefined;
    return session === undefined
      ? openWebSocket(await world.connect(host), host)
      : openWebSocketOverHttp2(session, host);
  });
  return Promise.all(opening);
}

suite('a storm of changes on other hosts', () => {
  test(`drops none of ${SOCKETS} WebSockets and no request`, async () => {
    const changes = await changesOfOtherHosts();
    const sockets = await openSockets();
    let dropped = 0;
    for (const socket of sockets) {
      void socket.closed.then(() => {
        dropped += 1;
      });
    }
    let isOver = false;
    const agent = world.agent(world.tlsOptions(host));
    const requests = (async () => {
      const statuses: number[] = [];
      while (!isOver) {
        statuses.push(await world.status(host, '/', { agent }));
        await sleep(10);
      }
      return statuses;
    })();
    const made: Promise<unknown>[] = [];
    for (let at = 0; at < CHANGES; at += 1) {
      made.push(changes[at % changes.length]?.(at) ?? Promise.resolve());
      // The rate of the storm; nothing waits for it.
      await sleep(1000 / CHANGES_PER_SECOND);
    }
    await Promise.all(made);
    isOver = true;
    const statuses = await requests;
    agent.destroy();
    assert.ok(statuses.length > 0);
    assert.deepEqual(new Set(statuses), new Set([200]));
    assert.equal(dropped, 0);
    const echoes = await Promise.all(sockets.map((socket, at) => socket.echoes(`still here ${at}`)));
    assert.ok(echoes.every(Boolean));
  });

  test('a change of their own edge that rejects them closes them', async () => {
    const site = await world.site(backend);
    const socket = await openWebSocket(await world.connect(site.host), site.host);
    assert.ok(await socket.echoes('hello'));
    await world.api('DELETE', site.edgePath);
    await socket.closed;
  });
});

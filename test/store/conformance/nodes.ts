import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import type { NodeStore } from '../../../src/store/node-store.ts';
import type { OpenStore } from './store-under-test.ts';

const LEASE_MS = 1_500;
const TEN_MINUTES_MS = 600_000;
const START_MS = 1_800_000_000_000;

export function nodes(openStore: OpenStore): void {
  async function openNodes(t: TestContext, ...ids: readonly string[]) {
    const clock = { now: START_MS, nowMs: () => clock.now };
    const { store } = await openStore(t, { clock });
    const { nodes } = store;
    for (const id of ids) await join(nodes, id);
    return { store, nodes, clock };
  }

  suite('nodes', { concurrency: 3 }, () => {
    test('a heartbeat extends the lease and returns all nodes, and a lost one is listed for ten minutes', async (t) => {
      const { store, nodes, clock } = await openNodes(t, 'nd_1', 'nd_2');
      clock.now += 400;
      const beat = await nodes.heartbeat(node('nd_1', { name: 'one' }, 'draining'), LEASE_MS);
      assert.deepEqual([beat.nowMs, beat.hadExpired], [START_MS + 400, false]);
      assert.deepEqual(beat.nodes, [
        { ...node('nd_1', { name: 'one' }, 'draining'), lastSeenAtMs: START_MS + 400, leaseEndsAtMs: START_MS + 1_900 },
        { ...node('nd_2'), lastSeenAtMs: START_MS, leaseEndsAtMs: START_MS + LEASE_MS },
      ]);
      clock.now = START_MS + LEASE_MS + TEN_MINUTES_MS - 1;
      await store.prune(clock.now);
      assert.deepEqual(idsOf(await nodes.list()), ['nd_1', 'nd_2']);
      clock.now += 1;
      assert.deepEqual(idsOf(await nodes.list()), ['nd_1']);
      assert.equal(await store.currentRevision(), 0);
    });

    test('a heartbeat reports that the lease had ended, or that there was none', async (t) => {
      const { nodes, clock } = await openNodes(t);
      assert.equal((await nodes.heartbeat(node('nd_1'), LEASE_MS)).hadExpired, true);
      clock.now += LEASE_MS - 1;
      assert.equal((await nodes.heartbeat(node('nd_1'), LEASE_MS)).hadExpired, false);
      clock.now += LEASE_MS;
      assert.equal((await nodes.heartbeat(node('nd_1'), LEASE_MS)).hadExpired, true);
    });

    test('a peer renews a lease that has not ended, and no other', async (t) => {
      const { nodes, clock } = await openNodes(t, 'nd_1');
      clock.now += LEASE_MS - 1;
      const renewed = await nodes.renewFor('nd_1', LEASE_MS);
      assert.deepEqual([renewed.hadExpired, renewed.nowMs], [false, clock.now]);
      assert.equal(renewed.nodes[0]?.leaseEndsAtMs, clock.now + LEASE_MS);
      clock.now += LEASE_MS;
      const late = await nodes.renewFor('nd_1', LEASE_MS);
      assert.deepEqual([late.hadExpired, late.nowMs, late.nodes[0]?.leaseEndsAtMs], [true, clock.now, clock.now]);
      assert.equal((await nodes.renewFor('nd_absent', LEASE_MS)).hadExpired, true);
    });

    test('nodes agree on what must be equal, and the first one decides again when it is alone', async (t) => {
      const { nodes, clock } = await openNodes(t);
      await nodes.heartbeat(node('nd_1'), LEASE_MS);
      await nodes.heartbeat(node('nd_2'), LEASE_MS);
      assert.deepEqual(idsOf(await nodes.list()), [], 'nobody is listed before it has agreed');
      assert.deepEqual(await nodes.agree('nd_1', { domain: 'a.example', edge_port: '443' }), {});
      assert.deepEqual(await nodes.agree('nd_2', { domain: 'b.example', edge_port: '443', more: 'x' }), {
        domain: 'a.example',
      });
      assert.deepEqual(idsOf(await nodes.list()), ['nd_1']);
      assert.deepEqual(await nodes.agree('nd_2', { domain: 'a.example', more: 'y' }), {}, 'nothing had been stored');
      assert.deepEqual(await nodes.agree('nd_1', { more: 'z' }), { more: 'y' });
      clock.now += LEASE_MS;
      await nodes.heartbeat(node('nd_2'), LEASE_MS);
      assert.deepEqual(await nodes.agree('nd_2', { domain: 'c.example' }), {});
      assert.deepEqual(await nodes.agree('nd_1', { domain: 'a.example' }), { domain: 'c.example' });
    });

    test('a key belongs to one session until it is released or the lease of its node ends', async (t) => {
      const { nodes, clock } = await openNodes(t, 'nd_1', 'nd_2');
      const first = await claimed(nodes, 'tls a.example', 'ts_1', 'nd_1');
      assert.equal(await claimed(nodes, 'tls a.example', 'ts_1', 'nd_1'), first, 'its holder may claim it again');
      const holder = claim('tls a.example', 'ts_1', 'nd_1');
      assert.deepEqual(await nodes.getClaim('tls a.example'), { ...holder, epoch: first });
      assert.equal(await nodes.getClaim('tls b.example'), null);
      clock.now += 500;
      for (const [session, id] of [
        ['ts_2', 'nd_2'],
        ['ts_2', 'nd_1'],
        ['ts_1', 'nd_2'],
      ] as const) {
        assert.deepEqual(await nodes.claim(claim('tls a.example', session, id)), {
          ...{ ok: false, holder: { ...holder, epoch: first }, leaseLeftMs: 1_000 },
        });
      }
      await nodes.release({ sessionId: 'ts_1', nodeId: 'nd_2' }, ['tls a.example']);
      assert.equal((await nodes.claimsOf('nd_1')).length, 1, 'another node cannot release it');
      await nodes.release({ sessionId: 'ts_1', nodeId: 'nd_1' }, ['tls a.example', 'port 1']);
      const second = await claimed(nodes, 'tls a.example', 'ts_2', 'nd_2');
      assert.ok(second > first);
      await nodes.heartbeat(node('nd_1'), LEASE_MS);
      clock.now += LEASE_MS - 501;
      assert.equal((await nodes.claim(holder)).ok, false);
      clock.now += 1;
      assert.ok((await claimed(nodes, 'tls a.example', 'ts_1', 'nd_1')) > second);
      assert.deepEqual(await nodes.claimsOf('nd_2'), []);
    });

    test('after an outage every node gets the time of a lease to renew its own', async (t) => {
      const { nodes, clock } = await openNodes(t, 'nd_1', 'nd_2');
      const put = await nodes.putSession(session('ts_1', 'nd_1'));
      assert.ok(put !== null);
      await claimed(nodes, 'tls a.example', 'ts_1', 'nd_1');
      clock.now += 60_000;
      await nodes.heartbeat(node('nd_2'), LEASE_MS);
      clock.now += 400;
      await nodes.heartbeat(node('nd_2'), LEASE_MS);
      const early = await nodes.claim(claim('tls a.example', 'ts_2', 'nd_2'));
      assert.ok(!early.ok && early.leaseLeftMs === LEASE_MS - 400, JSON.stringify(early));
      assert.deepEqual(await nodes.moveSession('ts_1', put.epoch, 'nd_2'), {
        ...{ ok: false, reason: 'held', leaseLeftMs: LEASE_MS - 400 },
      });
      clock.now += LEASE_MS - 400;
      await nodes.renewFor('nd_2', LEASE_MS);
      await claimed(nodes, 'tls a.example', 'ts_2', 'nd_2');
      assert.equal((await nodes.moveSession('ts_1', put.epoch, 'nd_2')).ok, true);
    });

    test('a node whose own lease has ended claims nothing', async (t) => {
      const { nodes, clock } = await openNodes(t, 'nd_1');
      clock.now += LEASE_MS;
      const refused = { ok: false, holder: null, leaseLeftMs: 0 };
      assert.deepEqual(await nodes.claim(claim('port 20001', 'ts_1', 'nd_1')), refused);
      assert.deepEqual(await nodes.claim(claim('port 20001', 'ts_1', 'nd_absent')), refused);
    });

    test('a session has one home, and moves with its claims when that one is lost or hands it over', async (t) => {
      const { nodes, clock } = await openNodes(t, 'nd_1', 'nd_2');
      const put = await nodes.putSession(session('ts_1', 'nd_1'));
      assert.ok(put !== null);
      await claimed(nodes, 'tls a.example', 'ts_1', 'nd_1');
      await claimed(nodes, 'tls b.example', 'ts_other', 'nd_1');
      assert.deepEqual(await nodes.putSession({ ...session('ts_1', 'nd_1'), doc: { second: true } }, put.epoch), put);
      assert.equal(await nodes.putSession(session('ts_1', 'nd_2')), null);
      assert.deepEqual(await nodes.getSession('ts_1'), { ...session('ts_1', 'nd_1'), ...put, doc: { second: true } });

      assert.deepEqual(await nodes.moveSession('ts_absent', 1, 'nd_2'), {
        ...{ ok: false, reason: 'absent', leaseLeftMs: 0 },
      });
      assert.deepEqual(await nodes.moveSession('ts_1', put.epoch, 'nd_2'), {
        ...{ ok: false, reason: 'held', leaseLeftMs: LEASE_MS },
      });
      const handed = await nodes.moveSession('ts_1', put.epoch, 'nd_2', 'nd_1');
      assert.ok(handed.ok && handed.session.epoch > put.epoch && handed.session.nodeId === 'nd_2');
      const { epoch } = handed.session;
      assert.deepEqual(await nodes.claimsOf('nd_2'), [{ ...claim('tls a.example', 'ts_1', 'nd_2'), epoch }]);
      assert.deepEqual(await nodes.moveSession('ts_1', put.epoch, 'nd_1'), {
        ...{ ok: false, reason: 'moved', leaseLeftMs: LEASE_MS },
      });
      assert.equal(await nodes.putSession(session('ts_1', 'nd_1'), put.epoch), null);
      await nodes.removeSession('ts_1', 'nd_1');
      await nodes.release({ sessionId: 'ts_1', nodeId: 'nd_1' }, ['tls a.example']);
      assert.equal((await nodes.sessionsOf('nd_2')).length, 1, 'its former home has no say');
      assert.equal((await nodes.claimsOf('nd_2')).length, 1);

      clock.now += LEASE_MS - 1;
      await nodes.heartbeat(node('nd_1'), LEASE_MS);
      clock.now += 1;
      const adopted = await nodes.moveSession('ts_1', epoch, 'nd_1');
      assert.ok(adopted.ok && adopted.session.epoch > epoch);
      assert.deepEqual(await nodes.sessionsOf('nd_1'), [adopted.session]);
      await nodes.removeSession('ts_1', 'nd_1');
      assert.deepEqual(
        (await nodes.claimsOf('nd_1')).map(({ key }) => key),
        ['tls b.example'],
      );
      assert.equal(await nodes.putSession(session('ts_1', 'nd_1'), adopted.session.epoch), null, 'it has ended');
    });

    test('a node that leaves gives everything up, and one that stays lost is forgotten', async (t) => {
      const { store, nodes, clock } = await openNodes(t, 'nd_1', 'nd_2');
      for (const id of ['nd_1', 'nd_2']) {
        await nodes.putSession(session(`ts_${id}`, id));
        await claimed(nodes, `tls ${id}`, `ts_${id}`, id);
      }
      await nodes.leave('nd_1');
      assert.deepEqual(idsOf(await nodes.list()), ['nd_2']);
      assert.deepEqual([await nodes.claimsOf('nd_1'), await nodes.sessionsOf('nd_1')], [[], []]);
      await claimed(nodes, 'tls nd_1', 'ts_3', 'nd_2');
      clock.now += LEASE_MS + TEN_MINUTES_MS;
      await store.prune(clock.now);
      assert.deepEqual([await nodes.claimsOf('nd_2'), await nodes.sessionsOf('nd_2')], [[], []]);
      assert.equal(await nodes.getSession('ts_nd_2'), null);
    });
  });
}

function node(id: string, doc = {}, status: 'ready' | 'draining' = 'ready') {
  return { id, status, startedAtMs: 5, doc };
}

function claim(key: string, sessionId: string, nodeId: string) {
  return { key, sessionId, credentialId: 'cr_1', nodeId };
}

function session(id: string, nodeId: string) {
  return { id, nodeId, credentialId: 'cr_1', doc: { tunnels: [] } };
}

async function join(nodes: NodeStore, id: string): Promise<void> {
  await nodes.heartbeat(node(id), LEASE_MS);
  assert.deepEqual(await nodes.agree(id, {}), {});
}

async function claimed(nodes: NodeStore, ...args: Parameters<typeof claim>): Promise<number> {
  const outcome = await nodes.claim(claim(...args));
  assert.ok(outcome.ok, JSON.stringify(outcome));
  return outcome.epoch;
}

function idsOf({ nodes }: { readonly nodes: readonly { readonly id: string }[] }): string[] {
  return nodes.map(({ id }) => id).sort();
}

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Lease, LeaseKind } from '../../../src/store/store.ts';
import type { OpenStore } from './store-under-test.ts';

function lease(kind: LeaseKind, id: string, rest: Partial<Lease> = {}): Lease {
  return { kind, id, parent: null, credentialId: null, bootId: 'boot-1', expiresAtMs: 1_000, doc: { id }, ...rest };
}

export function presence(openStore: OpenStore): void {
  suite('presence', { concurrency: 3 }, () => {
    test('a lease is online until it expires, and longer when it is renewed', async (t) => {
      const { store } = await openStore(t);
      const mine = lease('tunnel', 'tn_1');
      await store.presence.put([mine, lease('tunnel', 'tn_2', { bootId: 'boot-2' })]);
      assert.deepEqual(await store.presence.get('tunnel', 'tn_1', 999), mine);
      assert.equal(await store.presence.get('tunnel', 'tn_1', 1_000), null);
      assert.equal(await store.presence.get('endpoint', 'tn_1', 0), null);
      await store.presence.renew('boot-1', 2_000);
      assert.deepEqual(await store.presence.get('tunnel', 'tn_1', 1_500), { ...mine, expiresAtMs: 2_000 });
      assert.equal(await store.presence.get('tunnel', 'tn_2', 1_500), null);
      await store.prune(1_500);
      assert.deepEqual(
        (await store.presence.list('tunnel', { beforeId: null, limit: 9, nowMs: 0 })).map(({ id }) => id),
        ['tn_1'],
      );
      assert.equal(await store.currentRevision(), 0);
    });

    test('a lease can be put again and removed', async (t) => {
      const { store } = await openStore(t);
      await store.presence.put([lease('tunnel', 'tn_1'), lease('tunnel', 'tn_1', { doc: { second: true } })]);
      await store.presence.put([lease('tunnel', 'tn_1', { doc: { third: true } })]);
      assert.deepEqual((await store.presence.get('tunnel', 'tn_1', 0))?.doc, { third: true });
      await store.presence.remove([
        { kind: 'tunnel', id: 'tn_1' },
        { kind: 'tunnel', id: 'none' },
      ]);
      assert.equal(await store.presence.get('tunnel', 'tn_1', 0), null);
    });

    test('the sessions of a credential are removed with their tunnels and endpoints', async (t) => {
      const { store } = await openStore(t);
      await store.presence.put([
        lease('tunnel_session', 'ts_1', { credentialId: 'cr_1' }),
        lease('tunnel_session', 'ts_2', { credentialId: 'cr_1' }),
        lease('tunnel_session', 'ts_3', { credentialId: 'cr_2' }),
        lease('tunnel', 'tn_1', { parent: 'ts_1' }),
        lease('tunnel', 'tn_3', { parent: 'ts_3' }),
        lease('endpoint', 'ep_1', { parent: 'tn_1' }),
        lease('endpoint', 'ep_3', { parent: 'tn_3' }),
      ]);
      assert.deepEqual(await store.presence.removeByCredential('cr_1'), ['ts_1', 'ts_2']);
      assert.deepEqual(await store.presence.removeByCredential('cr_1'), []);
      const left = await Promise.all(
        (['tunnel_session', 'tunnel', 'endpoint'] as const).map((kind) =>
          store.presence.list(kind, { beforeId: null, limit: 9, nowMs: 0 }),
        ),
      );
      assert.deepEqual(
        left.flat().map(({ id }) => id),
        ['ts_3', 'tn_3', 'ep_3'],
      );
    });

    test('leases left by another boot are void', async (t) => {
      const { store } = await openStore(t);
      await store.presence.put([lease('node', 'n_1'), lease('node', 'n_2', { bootId: 'boot-2' })]);
      await store.presence.removeOtherBoots('boot-2');
      const left = await store.presence.list('node', { beforeId: null, limit: 9, nowMs: 0 });
      assert.deepEqual(
        left.map(({ id }) => id),
        ['n_2'],
      );
    });

    test('pages return every remaining lease exactly once, while others come and go', async (t) => {
      const { store } = await openStore(t);
      const staying = Array.from({ length: 300 }, (_, at) => `tn_${String(at * 2).padStart(4, '0')}`);
      const passing = staying.map((id) => `${id}x`);
      await store.presence.put(staying.map((id) => lease('tunnel', id)));
      const seen: string[] = [];
      let beforeId: string | null = null;
      for (let page = 0; ; page += 1) {
        const leases: readonly Lease[] = await store.presence.list('tunnel', { beforeId, limit: 17, nowMs: 0 });
        if (leases.length === 0) break;
        for (const { id } of leases) seen.push(id);
        beforeId = seen.at(-1) ?? null;
        await store.presence.put(passing.slice(page * 7, page * 7 + 40).map((id) => lease('tunnel', id)));
        await store.presence.remove(passing.slice(page * 3, page * 3 + 20).map((id) => ({ kind: 'tunnel', id })));
        // The lease that the next page starts from may be gone by then.
        if (beforeId?.endsWith('x')) await store.presence.remove([{ kind: 'tunnel', id: beforeId }]);
      }
      assert.equal(new Set(seen).size, seen.length);
      assert.deepEqual(
        seen.filter((id) => !id.endsWith('x')),
        staying.toReversed(),
      );
    });
  });
}

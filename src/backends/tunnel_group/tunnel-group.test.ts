import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { BackendSnapshot, Target, TargetPorts } from '../backend.ts';
import { tunnelGroup } from './tunnel-group.ts';

suite('tunnel_group backend', () => {
  test('sends to the tunnels that have its labels', () => {
    const labels = { app: 'shop' };
    const found: readonly Target<object>[] = [];
    const asked: unknown[] = [];
    const ports = {
      tunnelsWith: (wanted: unknown) => {
        asked.push(wanted);
        return found;
      },
    } as unknown as TargetPorts<object>;
    assert.equal(tunnelGroup.targets({ config: { labels } } as unknown as BackendSnapshot<never>, ports), found);
    // The same object: the edge caches a group's members by it.
    assert.equal(asked[0], labels);
  });

  test('shows the online tunnels that have all of its labels', async () => {
    const tunnels = [
      { id: 'tn_1', labels: { app: 'shop', zone: 'a' } },
      { id: 'tn_2', labels: { app: 'shop' } },
      { id: 'tn_3', labels: { app: 'other', zone: 'a' } },
      { id: 'tn_4', labels: null },
    ];
    const ports = {
      onlineTunnels: () => Promise.resolve(tunnels),
      ref: (id: string) => ({ id, uri: `/tunnels/${id}` }),
    };
    const groups: readonly { id: string; config: { labels: Readonly<Record<string, string>> } }[] = [
      { id: 'bkdtg_1', config: { labels: { app: 'shop' } } },
      { id: 'bkdtg_2', config: { labels: { app: 'shop', zone: 'a' } } },
      { id: 'bkdtg_3', config: { labels: { toString: 'shop' } } },
    ];
    const shown = (await tunnelGroup.live?.read(groups as never, ports)) ?? new Map();
    const ids = groups.map(({ id }) => (shown.get(id) as { tunnels: { id: string }[] }).tunnels.map((ref) => ref.id));
    assert.deepEqual(ids, [['tn_1', 'tn_2'], ['tn_1'], []]);
  });

  test('rejects labels that command lines cannot write', () => {
    for (const labels of [{ 'a=b': 'c' }, { a: '' }, { '': 'a' }, { a: '\n' }]) {
      assert.equal(tunnelGroup.check?.({ labels } as never).length, 1, JSON.stringify(labels));
    }
    assert.deepEqual(tunnelGroup.check?.({ labels: { app: 'a=b' } } as never), []);
  });
});

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { SliceQueue } from '../../../kit/async/slices.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { InstallationTunnels, type NodeTunnels } from './installation-tunnels.ts';

const OWN: NodeTunnels = {
  tunnels: [{ id: 'tn_1', requests: 2, bytesIn: 10, bytesOut: 100, inProgress: 1 }],
  agents: [{ id: 'ts_1', roundTripsMs: [1.2345, null], bytesReceived: 5, bytesSent: 6 }],
};

function documentWith(own: NodeTunnels, answers: Readonly<Record<string, JsonObject | null>>): Promise<JsonObject> {
  const tunnels = new InstallationTunnels(
    () => own,
    {
      ownName: 'one',
      answer: () => {},
      askOthers: async () =>
        Object.entries(answers).map(([name, answer]) => ({ name, answer, problem: answer === null ? 'lost' : '' })),
    },
    new SliceQueue(),
  );
  return tunnels.document();
}

suite('latency and traffic of tunnels', () => {
  test('adds up the nodes, and names the one that did not answer', async () => {
    const two = { tunnels: [['tn_1', 3, 1, 2, 0]], agents: [['ts_1', 7, 8, 20]] };
    assert.deepEqual(await documentWith(OWN, { two, three: null }), {
      tunnels: [{ id: 'tn_1', requests: 5, in_progress: 1, bytes_in: 11, bytes_out: 102 }],
      agents: [
        {
          id: 'ts_1',
          bytes_received: 12,
          bytes_sent: 14,
          connections: [
            { node: 'one', round_trip_ms: 1.23 },
            { node: 'one', round_trip_ms: null },
            { node: 'two', round_trip_ms: 20 },
          ],
        },
      ],
      asked_nodes: [
        { name: 'one', answered: true },
        { name: 'two', answered: true },
        { name: 'three', answered: false, problem: 'lost' },
      ],
    });
  });

  test('ignores what another node should not have sent', async () => {
    for (const answer of [
      {},
      { tunnels: 'x', agents: { a: 1 } },
      { tunnels: [null, 'tn', [1, 2], []], agents: [[{}]] },
    ]) {
      const { tunnels, agents } = await documentWith(OWN, { two: answer as JsonObject });
      assert.deepEqual([(tunnels as unknown[]).length, (agents as unknown[]).length], [1, 1]);
    }
    const odd = await documentWith(OWN, { two: { tunnels: [['tn_1', 'many', null, {}, -1]], agents: [] } });
    assert.deepEqual(odd['tunnels'], [{ id: 'tn_1', requests: 2, in_progress: 0, bytes_in: 10, bytes_out: 100 }]);
  });

  test('lists the busiest thousand', async () => {
    const tunnels = Array.from({ length: 3_000 }, (_, at) => ({
      ...{ id: `tn_${at}`, requests: at, bytesIn: 0, bytesOut: 0, inProgress: 0 },
    }));
    const listed = (await documentWith({ tunnels, agents: [] }, {}))['tunnels'] as { requests: number }[];
    assert.deepEqual([listed.length, Math.min(...listed.map(({ requests }) => requests))], [1_000, 2_000]);
  });

  test('lists the busiest of another node rather than the idle of this one', async () => {
    const tunnels = Array.from({ length: 1_500 }, (_, at) => ({
      ...{ id: `tn_${at}`, requests: 0, bytesIn: 0, bytesOut: 0, inProgress: 0 },
    }));
    const answer = { tunnels: [['tn_busy', 7, 0, 0, 0]], agents: [] };
    const { tunnels: listed } = await documentWith({ tunnels, agents: [] }, { two: answer });
    assert.deepEqual((listed as { id: string }[]).map(({ id }) => id).slice(0, 2), ['tn_busy', 'tn_0']);
    assert.equal((listed as unknown[]).length, 1_000);
  });

  test('counts a tunnel once that came back during the search', async () => {
    const tunnels = [...OWN.tunnels, ...OWN.tunnels];
    const { tunnels: listed } = await documentWith({ ...OWN, tunnels }, {});
    assert.deepEqual(listed, [{ id: 'tn_1', requests: 2, in_progress: 1, bytes_in: 10, bytes_out: 100 }]);
  });

  test('searches once for all readers and nodes that ask, and not before', async () => {
    let [searches, asked] = [0, 0];
    let answer = (_question: JsonObject): JsonObject | Promise<JsonObject> => ({});
    const own = (): NodeTunnels => {
      searches += 1;
      return OWN;
    };
    const tunnels = new InstallationTunnels(
      own,
      {
        ownName: 'one',
        answer: (_kind, given) => {
          answer = given;
        },
        askOthers: async () => {
          asked += 1;
          return [];
        },
      },
      new SliceQueue(),
    );
    assert.deepEqual([searches, asked], [0, 0]);
    const [document, other, packed] = await Promise.all([tunnels.document(), tunnels.document(), answer({})]);
    assert.equal(document, other);
    assert.deepEqual(packed['tunnels'], [['tn_1', 2, 10, 100, 1]]);
    assert.deepEqual([searches, asked], [1, 1]);
  });
});

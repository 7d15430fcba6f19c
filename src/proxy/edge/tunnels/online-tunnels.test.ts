import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type OnlineTunnel, tunnelFigures } from './online-tunnels.ts';
import { TunnelUse } from './tunnel-use.ts';

function tunnel(id: string, requests: number, inFlight: number, hopsInFlight = 0): OnlineTunnel {
  const use = Object.assign(new TunnelUse(), {
    requests,
    bytesIn: requests * 10,
    bytesOut: requests * 100,
    hopsInFlight,
  });
  return { id, inFlight, use } as OnlineTunnel;
}

function listOf(...tunnels: OnlineTunnel[]): {
  all(): Iterable<OnlineTunnel>;
  get(id: string): OnlineTunnel | undefined;
} {
  return { all: () => tunnels, get: (id) => tunnels.find((each) => each.id === id) };
}

test('adds up a tunnel whose agent is connected here and elsewhere, and has the others once', () => {
  const here = listOf(tunnel('tn_here', 1, 2, 1), tunnel('tn_both', 2, 3, 2));
  const elsewhere = listOf(tunnel('tn_both', 5, 4, 1), tunnel('tn_elsewhere', 7, 0));
  assert.deepEqual(
    [...tunnelFigures(here, elsewhere)],
    [
      { id: 'tn_here', requests: 1, bytesIn: 10, bytesOut: 100, inProgress: 1 },
      { id: 'tn_both', requests: 7, bytesIn: 70, bytesOut: 700, inProgress: 4 },
      null,
      { id: 'tn_elsewhere', requests: 7, bytesIn: 70, bytesOut: 700, inProgress: 0 },
    ],
  );
});

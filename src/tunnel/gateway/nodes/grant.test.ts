import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { NodeRow } from '../../nodes/node.ts';
import type { ClusterPorts } from '../ports.ts';
import { Grant, leaseLeftMs } from './grant.ts';

const NOW_MS = 1_000_000;

function membershipOf(leasesLeftMs: Readonly<Record<string, number>>): ClusterPorts['membership'] {
  return {
    self: { id: 'self' },
    mayServe: () => true,
    nowMs: () => NOW_MS,
    get: (id: string) => {
      const leftMs = leasesLeftMs[id];
      return leftMs === undefined ? undefined : ({ leaseEndsAtMs: NOW_MS + leftMs } as NodeRow);
    },
  } as ClusterPorts['membership'];
}

suite('the right to serve sessions of another home', () => {
  const known = membershipOf({ self: 1_500, home: 1_500 });
  const unread = membershipOf({ self: 1_500 });
  const askedAtMs = performance.now();
  const cases: readonly (readonly [string, ClusterPorts['membership'], object, number, boolean])[] = [
    ['serves by the lease that it has read', known, { grant_ms: 60_000 }, 0, true],
    ['does not serve without a grant', known, { grant_ms: 0, lease_ms: 1_500 }, 0, false],
    ['does not serve when the grant has ended', known, { grant_ms: 1_500, lease_ms: 1_500 }, 1_600, false],
    ['does not serve for a home that nothing is known about', unread, { grant_ms: 60_000 }, 0, false],
    ["serves by the home's word about its own lease", unread, { grant_ms: 60_000, lease_ms: 1_500 }, 0, true],
    ['does not serve when that lease has ended', unread, { grant_ms: 60_000, lease_ms: 1_500 }, 1_600, false],
    ['believes no lease that is longer than leases are', unread, { grant_ms: 60_000, lease_ms: 9e9 }, 1_600, false],
    ['ignores a lease that is not a number', unread, { grant_ms: 60_000, lease_ms: 'long' }, 0, false],
  ];
  for (const [name, membership, answer, agoMs, expected] of cases) {
    test(name, () => {
      const grant = new Grant('home', membership);
      grant.extend(askedAtMs - agoMs, answer as never);
      assert.equal(grant.mayServe(), expected);
    });
  }

  test('a new home that this node has not read about is served by the word of the former one', () => {
    const former = new Grant('former', membershipOf({ self: 1_500, former: 1_500 }));
    former.extend(performance.now(), { grant_ms: 1_500, lease_ms: 1_500 });
    const grant = new Grant('home', unread);
    grant.inherit(former, undefined);
    assert.equal(grant.mayServe(), false, 'nothing was said about the lease');
    grant.inherit(former, 1_400);
    assert.equal(grant.mayServe(), true);
  });

  test('counts the lease of the new home from before the former one was asked', () => {
    const former = new Grant('former', membershipOf({ self: 1_500, former: 1_500 }));
    former.extend(performance.now() - 1_000, { grant_ms: 60_000, lease_ms: 1_500 });
    const grant = new Grant('home', unread);
    grant.inherit(former, 900);
    assert.equal(grant.mayServe(), false);
  });

  test('a lease that is about to end counts as ended', () => {
    assert.equal(leaseLeftMs(membershipOf({ home: 40 }), 'home'), 0);
    assert.equal(leaseLeftMs(membershipOf({ home: 1_040 }), 'home'), 990);
    assert.equal(leaseLeftMs(membershipOf({}), 'home'), 0);
  });
});

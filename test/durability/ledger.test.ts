import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ledger } from './ledger.ts';

const EDGE = 'https_edge e1';
const MODULE = 'https_edge.mutual_tls e1';
const edge = { description: 'w1 1', metadata: 'a' };
const module = { enabled: true };

test('reports a missing acknowledged write as lost', () => {
  const ledger = new Ledger();
  ledger.acknowledge(EDGE, edge);
  assert.match(ledger.settle(new Map()).problems.join(), /^lost: https_edge e1/);
});

test('reports an acknowledged write replaced by an earlier one as changed', () => {
  const ledger = new Ledger();
  ledger.acknowledge(EDGE, edge);
  ledger.acknowledge(EDGE, { ...edge, metadata: 'b' });
  assert.match(ledger.settle(new Map([[EDGE, edge]])).problems.join(), /^changed: https_edge e1/);
});

test('reports a deleted document that is back', () => {
  const ledger = new Ledger();
  ledger.acknowledge(EDGE, edge);
  ledger.acknowledge(EDGE, null);
  assert.match(
    ledger.settle(new Map([[EDGE, edge]])).problems.join(),
    /^from nowhere, or deleted and back: https_edge/,
  );
});

test('accepts an unanswered update that is complete or absent, and nothing in between', () => {
  const changes = [
    { kind: 'https_edge', id: 'e1', state: { ...edge, metadata: 'b' } },
    { kind: 'https_edge.mutual_tls', id: 'e1', state: module },
  ];
  const after = { ...edge, metadata: 'b' };
  const outcomes = [
    { observed: new Map<string, typeof edge | typeof module>([[EDGE, edge]]), applied: 0, problems: /^$/ },
    {
      observed: new Map<string, typeof edge | typeof module>([
        [EDGE, after],
        [MODULE, module],
      ]),
      applied: 1,
      problems: /^$/,
    },
    { observed: new Map<string, typeof edge | typeof module>([[EDGE, after]]), applied: 0, problems: /^half applied/ },
    {
      observed: new Map<string, typeof edge | typeof module>([
        [EDGE, edge],
        [MODULE, module],
      ]),
      applied: 0,
      problems: /^half applied/,
    },
  ];
  for (const { observed, applied, problems } of outcomes) {
    const ledger = new Ledger();
    ledger.acknowledge(EDGE, edge);
    ledger.leaveOpen({ title: 'PATCH', marker: null, changes });
    const settled = ledger.settle(observed);
    assert.match(settled.problems.join(), problems);
    assert.equal(settled.applied.length, applied);
    assert.equal(settled.unanswered, 1);
  }
});

test('finds an unanswered create by its description, once, with all its modules and no other', () => {
  const changes = [
    { kind: 'https_edge', id: null, state: edge },
    { kind: 'https_edge.mutual_tls', id: null, state: module },
  ];
  const whole: [string, object][] = [
    [EDGE, { ...edge, id: 'e1' }],
    [MODULE, module],
  ];
  const outcomes: { observed: [string, object][]; applied: number; problems: RegExp }[] = [
    { observed: [], applied: 0, problems: /^$/ },
    { observed: whole, applied: 1, problems: /^$/ },
    { observed: whole.slice(0, 1), applied: 0, problems: /^half applied/ },
    { observed: [...whole, ['https_edge.tls_termination e1', {}]], applied: 0, problems: /^half applied/ },
    { observed: [...whole, ['https_edge e2', edge]], applied: 1, problems: /^made twice/ },
  ];
  for (const { observed, applied, problems } of outcomes) {
    const ledger = new Ledger();
    ledger.leaveOpen({ title: 'POST', marker: 'w1 1', changes });
    const settled = ledger.settle(new Map(observed) as Map<string, typeof edge>);
    assert.match(settled.problems.join(), problems);
    assert.equal(settled.applied.length, applied);
  }
});

test('a deletion includes routes and modules, and a partial one is detected', () => {
  const ledger = new Ledger();
  const all: [string, Record<string, string>][] = [
    [EDGE, edge],
    ['https_edge_route r1', { edge_id: 'e1' }],
    ['https_edge_route.oidc r1', { issuer: 'x' }],
    ['https_edge e2', edge],
  ];
  for (const [key, state] of all) ledger.acknowledge(key, state);
  const below = ledger.below('e1');
  assert.deepEqual(below, [EDGE, 'https_edge_route r1', 'https_edge_route.oidc r1']);
  const changes = below.map((key) => ({ kind: key.split(' ')[0] ?? '', id: key.split(' ')[1] ?? '', state: null }));
  ledger.leaveOpen({ title: 'DELETE', marker: null, changes });
  assert.match(ledger.settle(new Map(all.slice(1))).problems.join(), /^half applied: DELETE/);
});

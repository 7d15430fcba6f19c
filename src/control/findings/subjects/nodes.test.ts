import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CheckedNode, Facts, PeerStatus } from '../facts.ts';
import { agentsCheck } from './agents.ts';
import { nodesCheck } from './nodes.ts';

const NODE: CheckedNode = {
  id: 'nd_a',
  name: 'a',
  version: '1.0.0',
  status: 'ready',
  last_seen_at: '2026-01-02T00:00:00Z',
  problems: [],
};
const B: CheckedNode = { ...NODE, id: 'nd_b', name: 'b' };
const UNREACHABLE = {
  code: 'node_unreachable',
  message: 'node b cannot be reached at 10.0.0.2:7445: connection refused',
  advice: 'check peer_address of that node',
  about: { id: 'nd_b' },
};

interface Case {
  readonly nodes: readonly CheckedNode[];
  readonly peers?: readonly PeerStatus[];
  readonly expected: readonly (readonly [level: string, message: RegExp, advice?: RegExp])[];
}

const CASES: Readonly<Record<string, Case>> = {
  'one node alone': { nodes: [NODE], expected: [['ok', /^a is ready$/]] },
  'a problem that a node reports, with the advice that comes with it': {
    nodes: [{ ...NODE, problems: [{ code: 'new_in_another_version', message: 'it rains', advice: 'take a coat' }] }],
    expected: [['problem', /^a: it rains$/, /^take a coat$/]],
  },
  'a peer that cannot be reached, reported once': {
    nodes: [{ ...NODE, problems: [UNREACHABLE] }, B],
    peers: [{ name: 'b', status: 'unreachable' }],
    expected: [
      ['problem', /^a: node b cannot be reached/, /peer_address/],
      ['ok', /^b is ready$/],
    ],
  },
  'a peer that is not linked yet': {
    nodes: [NODE, B],
    peers: [{ name: 'b', status: 'unreachable' }],
    expected: [
      ['ok', /^a/],
      ['ok', /^b/],
      ['warning', /not linked to b$/, /check again/],
    ],
  },
  'different versions': {
    nodes: [B, { ...NODE, version: '1.1.0' }],
    expected: [
      ['ok', /^b/],
      ['ok', /^a/],
      ['warning', /: a 1\.1\.0, b 1\.0\.0$/, /upgrade/],
    ],
  },
  'a node that is stopped, one that was lost, and one that was started again': {
    nodes: [
      { ...NODE, status: 'draining' },
      { ...B, status: 'lost', problems: [UNREACHABLE] },
      { ...B, id: 'nd_c', name: 'c', status: 'lost', version: '0.9.0' },
      { ...B, id: 'nd_d', name: 'c' },
    ],
    expected: [
      ['hint', /^a is being stopped$/],
      ['ok', /^c is ready$/],
      ['warning', /^b was lost: .* 2026-01-02T00:00:00Z$/, /start it again/],
    ],
  },
};

for (const [name, { nodes, peers = [], expected }] of Object.entries(CASES)) {
  test(`nodes: ${name}`, () => {
    const findings = [...nodesCheck.run({ nodes, peers })];
    assert.deepEqual(
      findings.map(({ level }) => level),
      expected.map(([level]) => level),
    );
    for (const [at, [, message, advice]] of expected.entries()) {
      assert.match(findings[at]?.message ?? '', message);
      if (advice !== undefined) assert.match(findings[at]?.advice ?? '', advice);
    }
  });
}

test('lists what agents report as warnings on one line, whatever they wrote', () => {
  const tunnel_sessions = [
    { id: 'ts_1', ip: '192.0.2.7', metadata: '', problems: ['container web: rejected: it would be public'] },
    { id: 'ts_2', ip: '192.0.2.8', metadata: `m\u001b[2J${'x'.repeat(4_000)}`, problems: ['a\n\u202eb\u0000'] },
  ];
  const found = [...agentsCheck.run({ tunnel_sessions } as unknown as Facts)];
  assert.deepEqual(
    found.map((finding) => [finding?.level, finding?.message, finding?.about]),
    [
      ['warning', 'agent 192.0.2.7: container web: rejected: it would be public', { id: 'ts_1' }],
      ['warning', `agent m [2J${'x'.repeat(55)} (192.0.2.8): a b`, { id: 'ts_2' }],
    ],
  );
});

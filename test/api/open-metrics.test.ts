import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { TestWorld } from '../support/test-world.ts';

const world = await TestWorld.open(
  { after },
  {
    env: {
      POSTERN_ROLES: 'api,edge,gateway,events',
      POSTERN_EDGE_LISTEN: '127.0.0.1:0',
      POSTERN_EDGE_HTTP_LISTEN: '127.0.0.1:0',
      POSTERN_TUNNEL_LISTEN: '127.0.0.1:0',
    },
  },
);
const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  counter: ['_total'],
  histogram: ['_bucket', '_sum', '_count'],
  gauge: [''],
  unknown: [''],
};

test('/metrics is OpenMetrics for who asks for it, with the same samples', async () => {
  await world.api('GET', '/metrics', undefined, { headers: { accept: 'application/openmetrics-text' } });
  const { text: plain, headers: plainHeaders } = await world.api('GET', '/metrics');
  const open = await world.api('GET', '/metrics', undefined, { headers: { accept: 'application/openmetrics-text' } });
  assert.match(plainHeaders.get('content-type') ?? '', /^text\/plain/);
  assert.match(open.headers.get('content-type') ?? '', /^application\/openmetrics-text; version=1\.0\.0/);
  assert.match(open.headers.get('vary') ?? '', /accept,/);
  const lines = open.text.split('\n');
  assert.deepEqual(lines.slice(-2), ['# EOF', '']);
  const families = new Map<string, string>();
  const names = new Set<string>();
  let current = '';
  for (const line of lines.slice(0, -2)) {
    assert.notEqual(line, '');
    const [, kind, name = '', type = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (kind === 'TYPE') {
      assert.ok(!families.has(name), `${name} is declared twice`);
      families.set(name, type);
      current = name;
    }
    if (kind !== undefined) continue;
    const sample = /^[a-z0-9_]+/.exec(line)?.[0] ?? '';
    names.add(sample);
    const suffixes = SUFFIXES[families.get(current) ?? ''] ?? assert.fail(current);
    assert.ok(
      suffixes.some((suffix) => sample === `${current}${suffix}`),
      `${sample} in the family ${current}`,
    );
    assert.doesNotMatch(line, / Nan$|le="\d+"/);
  }
  assert.equal(families.get('postern_edge_tunnel_connections'), 'gauge');
  const before = new Set(Array.from(plain.matchAll(/^([a-z0-9_]+)[{ ]/gm), ([, name = '']) => name));
  assert.deepEqual([...names].sort(), [...before].sort());
});

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { EdgeWorld } from '../support/edge-world.ts';
import { lintMetrics } from '../support/prometheus-lint.ts';

suite('the names of metrics', () => {
  for (const [what, text, problem] of [
    ['a counter without _total', '# HELP a_b B.\n# TYPE a_b counter\na_b 1', /_total/],
    ['a gauge with _total', '# HELP a_total B.\n# TYPE a_total gauge\na_total 1', /_total/],
    ['milliseconds', '# HELP a_milliseconds B.\n# TYPE a_milliseconds gauge', /base unit/],
    ['days', '# HELP a_days B.\n# TYPE a_days gauge', /base unit/],
    ['an abbreviated unit', '# HELP a_ms_b B.\n# TYPE a_ms_b gauge', /abbreviated/],
    ['the type', '# HELP a_gauge B.\n# TYPE a_gauge gauge', /include type/],
    ['no help', '# TYPE a_b gauge\na_b 1', /no help/],
    ['no type', '# HELP a_b B.\na_b 1', /no type/],
    ['camel case', '# HELP aB B.\n# TYPE aB gauge', /camelCase/],
    ['camel case of a label', '# HELP a_b B.\n# TYPE a_b gauge\na_b{xY="1"} 1', /camelCase/],
    ['a colon', '# HELP a:b B.\n# TYPE a:b gauge', /':'/],
    ['a gauge with le', '# HELP a_b B.\n# TYPE a_b gauge\na_b{le="1"} 1', /"le"/],
    ['a gauge with _count', '# HELP a_count B.\n# TYPE a_count gauge', /_count/],
    ['a series twice', '# HELP a_b B.\n# TYPE a_b gauge\na_b{c="1"} 1\na_b{c="1"} 2', /not unique/],
    ['an age', '# HELP postern_age_seconds B.\n# TYPE postern_age_seconds gauge', /_timestamp_seconds/],
  ] as const)
    test(`${what} is reported`, () => assert.match(lintMetrics(text).join('\n'), problem));

  test('a histogram with its parts is not', () => {
    const text =
      '# HELP a_duration_seconds B.\n# TYPE a_duration_seconds histogram\na_duration_seconds_bucket{le="1"} 1';
    assert.deepEqual(lintMetrics(`${text}\na_duration_seconds_sum 1\na_duration_seconds_count 1`), []);
  });

  test('of a server with every role follow the conventions of Prometheus', async (t) => {
    const edge = await EdgeWorld.open(t);
    const { host } = await edge.site(await edge.httpResponse('hello'));
    assert.equal(await edge.status(host), 200);
    const text = await edge.metrics();
    assert.ok((text.match(/^# TYPE postern_/gm) ?? []).length > 50);
    assert.match(text, /^postern_build_info\{version="[^"]+",nodejs="\d+\.[^"]+",platform="linux",arch="\w+"\} 1$/m);
    assert.deepEqual(lintMetrics(text), []);
  });
});

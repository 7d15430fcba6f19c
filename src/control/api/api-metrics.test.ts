import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { openMetricsText, prefersOpenMetrics } from './api-metrics.ts';

suite('OpenMetrics', () => {
  test('is preferred by who asks for it at least as much as for plain text', () => {
    const prometheus =
      'application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2';
    for (const accept of [prometheus, 'application/openmetrics-text', 'Application/OpenMetrics-Text; version=1.0.0'])
      assert.ok(prefersOpenMetrics(accept), accept);
    for (const accept of [
      undefined,
      '*/*',
      'text/plain',
      'text/html, */*',
      'application/openmetrics-text;q=0',
      'application/openmetrics-text;q=0.3, text/plain;q=0.8',
      'application/openmetrics-text; version=2.0.0',
      'application/openmetrics-text;q=x',
    ])
      assert.ok(!prefersOpenMetrics(accept), String(accept));
  });

  test('names families without _total, has no empty lines, and ends with EOF', () => {
    const plain = [
      '# HELP a_total Counts "a".\n# TYPE a_total counter\na_total{x="le=1"} 1',
      '# HELP b How many.\n# TYPE b gauge\nb Nan',
      '# HELP b_total A counter beside a gauge.\n# TYPE b_total counter\nb_total 2',
      '# HELP c Seconds.\n# TYPE c histogram\nc_bucket{le="0.5"} 1\nc_bucket{le="1"} 2\nc_bucket{le="+Inf"} 2\nc_sum 1.5\nc_count 2',
      '# HELP d None.\n# TYPE d gauge',
    ];
    assert.equal(
      openMetricsText(`${plain.join('\n\n')}\n`),
      [
        '# HELP a Counts \\"a\\".\n# TYPE a counter\na_total{x="le=1"} 1',
        '# HELP b How many.\n# TYPE b gauge\nb NaN',
        '# HELP b_total A counter beside a gauge.\n# TYPE b_total unknown\nb_total 2',
        '# HELP c Seconds.\n# TYPE c histogram\nc_bucket{le="0.5"} 1\nc_bucket{le="1.0"} 2\nc_bucket{le="+Inf"} 2\nc_sum 1.5\nc_count 2',
        '# HELP d None.\n# TYPE d gauge',
        '# EOF\n',
      ].join('\n'),
    );
  });
});

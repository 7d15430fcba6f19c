import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { loadConfig } from './load.ts';
import type { Config } from './schema.ts';

function load(env: Readonly<Record<string, string>>): Config {
  return loadConfig({ flags: new Map(), env }).config;
}

suite('the settings of traces', () => {
  test('are off by default, and record everything when they are on', () => {
    const { otel_endpoint, otel_sample_ratio, otel_headers } = load({});
    assert.deepEqual([otel_endpoint, otel_sample_ratio, otel_headers], [null, 1, null]);
  });

  test('accept a URL with a path, a fraction, and several headers', () => {
    const config = load({
      POSTERN_OTEL_ENDPOINT: 'https://collector.example:4318/otlp/',
      POSTERN_OTEL_SAMPLE_RATIO: '0.01',
      POSTERN_OTEL_HEADERS: 'authorization=Bearer a=b, x-team = edge',
    });
    assert.deepEqual([config.otel_endpoint, config.otel_sample_ratio], ['https://collector.example:4318/otlp', 0.01]);
  });

  for (const [name, value] of [
    ['OTEL_ENDPOINT', 'collector:4318'],
    ['OTEL_ENDPOINT', 'ftp://collector'],
    ['OTEL_ENDPOINT', 'http://user:secret@collector'],
    ['OTEL_SAMPLE_RATIO', '1.5'],
    ['OTEL_SAMPLE_RATIO', '-1'],
    ['OTEL_SAMPLE_RATIO', '1%'],
    ['OTEL_SAMPLE_RATIO', '1e-3'],
    ['OTEL_SAMPLE_RATIO', 'NaN'],
    ['OTEL_HEADERS', 'secret'],
    ['OTEL_HEADERS', 'a=secret,b'],
    ['OTEL_HEADERS', 'content-type=secret'],
    ['OTEL_HEADERS', 'Host=secret'],
    ['OTEL_HEADERS', 'a=secret\r\nb: c'],
  ] as const) {
    test(`${name} rejects ${JSON.stringify(value)}`, () => {
      const env = { POSTERN_OTEL_ENDPOINT: 'http://127.0.0.1:1', [`POSTERN_${name}`]: value };
      assert.throws(
        () => load(env),
        (error: Error & { code?: string }) => {
          assert.equal(error.code, 'ERR_POSTERN_CONFIG_VALUE');
          if (name === 'OTEL_HEADERS') assert.ok(!error.message.includes('secret'), error.message);
          return true;
        },
      );
    });
  }

  test('headers without an endpoint are rejected', () => {
    assert.throws(() => load({ POSTERN_OTEL_HEADERS: 'a=b' }), /set the URL of the OpenTelemetry collector/);
  });
});

// Own process: watches which packages are loaded.
import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { after, suite, test } from 'node:test';
import { recordingUpstream } from '../edge/traffic/recording-upstream.ts';
import { EdgeWorld } from '../support/edge-world.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TestWorld } from '../support/test-world.ts';

const resolved: string[] = [];
let isMissing = false;
registerHooks({
  resolve: (specifier, context, next) => {
    if (specifier.startsWith('@opentelemetry/sdk') || specifier.startsWith('@opentelemetry/exporter')) {
      resolved.push(specifier);
      if (isMissing)
        throw Object.assign(new Error(`Cannot find package ${specifier}`), { code: 'ERR_MODULE_NOT_FOUND' });
    }
    return next(specifier, context);
  },
});

const edges = await EdgeWorld.open({ after });
const upstream = await recordingUpstream({ after });

suite('without otel_endpoint', () => {
  test('no package of OpenTelemetry is loaded, and trace headers pass as they came', async () => {
    const { host } = await edges.site(await edges.staticBackend(upstream.address));
    const given = { traceparent: 'anything', tracestate: '=' };
    await edges.ask(host, '/', { headers: given });
    const { traceparent, tracestate } = upstream.seen[0]?.headers ?? {};
    assert.deepEqual({ traceparent, tracestate }, given);
    upstream.forget();
    await edges.ask(host, '/');
    assert.equal(upstream.seen[0]?.headers['traceparent'], undefined);
    assert.deepEqual(resolved, []);
  });
});

suite('with otel_endpoint', () => {
  test('a server without the packages does not start, and says what to do', async (t) => {
    isMissing = true;
    await assert.rejects(
      TestWorld.open(t, {
        dataDir: await tempDir(t),
        env: { POSTERN_OTEL_ENDPOINT: 'http://127.0.0.1:4318' },
      }),
      (error: Error & { code?: string }) => {
        assert.equal(error.code, 'ERR_POSTERN_TRACING');
        assert.match(error.message, /@opentelemetry\/sdk-trace.*npm ci.*unset otel_endpoint/);
        return true;
      },
    );
    assert.deepEqual(resolved, ['@opentelemetry/sdk-trace']);
  });

  test('a ratio of 0 records nothing, and upstreams hear that', async (t) => {
    isMissing = false;
    const quiet = await EdgeWorld.open(t, {
      POSTERN_OTEL_ENDPOINT: 'http://127.0.0.1:4318',
      POSTERN_OTEL_SAMPLE_RATIO: '0',
    });
    const { host } = await quiet.site(await quiet.staticBackend(upstream.address));
    upstream.forget();
    await quiet.ask(host, '/', { headers: { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` } });
    assert.match(String(upstream.seen[0]?.headers['traceparent']), /^00-a{32}-(?!b{16})[0-9a-f]{16}-00$/);
    assert.match(await quiet.metrics(), /postern_otel_queued_spans 0/);
  });
});

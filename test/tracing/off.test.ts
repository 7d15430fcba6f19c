// Own process: watches which packages are loaded. It starts no server, which would take the most of its time.
import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { suite, test } from 'node:test';
import { Registry } from 'prom-client';
import { openServerTracing } from '../../src/app/main/data-plane/tracing.ts';
import { loadConfig } from '../../src/app/settings/load.ts';

const resolved: string[] = [];
registerHooks({
  resolve: (specifier, context, next) => {
    if (!specifier.startsWith('@opentelemetry/sdk') && !specifier.startsWith('@opentelemetry/otlp'))
      return next(specifier, context);
    resolved.push(specifier);
    throw Object.assign(new Error(`Cannot find package ${specifier}`), { code: 'ERR_MODULE_NOT_FOUND' });
  },
});

function open(endpoint: string | null): ReturnType<typeof openServerTracing> {
  return openServerTracing({
    config: loadConfig({ flags: new Map(), env: endpoint === null ? {} : { POSTERN_OTEL_ENDPOINT: endpoint } }).config,
    store: { mac: () => '' },
    registry: new Registry(),
    logger: null as never,
    node: 'one',
  });
}

suite('the packages of OpenTelemetry', () => {
  test('are not loaded without otel_endpoint', async () => {
    assert.equal(await open(null), null);
    assert.deepEqual(resolved, []);
  });

  test('are needed with otel_endpoint: the error says what to do', async () => {
    await assert.rejects(open('http://127.0.0.1:4318'), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'ERR_POSTERN_TRACING');
      assert.match(error.message, /@opentelemetry\/sdk-trace.*npm ci.*unset otel_endpoint/);
      return true;
    });
    assert.deepEqual(resolved, ['@opentelemetry/sdk-trace']);
  });
});

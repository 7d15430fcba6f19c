import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import pino from 'pino';
import { Registry } from 'prom-client';
import { ApiMetrics } from '../../src/control/api/api-metrics.ts';
import { type ApiDependencies, createApi } from '../../src/control/api/create-api.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { storeErrors } from '../../src/store/errors.ts';

test('an expected 503 is logged in one line without a stack, and metrics are served while revocations are unknown', async (t) => {
  const lines: { level: number; msg: string; code?: string; err?: object }[] = [];
  const logger = pino({ level: 'trace' }, { write: (line: string) => lines.push(JSON.parse(line)) });
  const others = { revision: 0, isCurrent: true, behind: null, catchUp: async () => {} };
  let fail = (): never => assert.fail('not yet');
  const api = await createApi({
    operations: [
      {
        resource: 'things',
        verb: 'get',
        method: 'GET',
        path: '/things',
        summary: '',
        success: { status: 200, schema: null, description: '' },
        errors: [],
        run: () => fail(),
      },
    ],
    findPrincipal: (token: string) => (token === 'known' ? { apiKeyId: 'ak_1', scopes: ['*'] } : null),
    areKeysKnown: () => false,
    others,
    clock: systemClock,
    logger,
    requestLogger: { info: () => {} },
    metrics: new ApiMetrics(new Registry()),
    pages: {
      areMetricsOpen: false,
      startPath: '/',
      metrics: async () => ({ contentType: 'text/plain', text: 'postern_store_up 0\n' }),
    },
    rateLimitPerSecond: 0,
    corsOrigins: [],
  } as unknown as ApiDependencies<unknown>);
  const server = createServer(api.handle).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  t.after(() => api.close());
  const ask = async (token: string, path = '/things'): Promise<number> => {
    const headers = { authorization: `Bearer ${token}`, 'service-version': '2' };
    return (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, { headers })).status;
  };

  assert.equal(await ask('unknown'), 503);
  fail = () => {
    throw storeErrors.create('ERR_POSTERN_STORE_UNAVAILABLE', 'the database could not be used');
  };
  assert.equal(await ask('known'), 503);
  fail = () => {
    throw new Error('a bug');
  };
  assert.equal(await ask('known'), 500);
  assert.deepEqual(
    lines.map(({ level, msg, code, err }) => [level, msg, code, err !== undefined]),
    [
      [30, 'request came too early', 'ERR_POSTERN_STARTING', false],
      [40, 'request refused for now', 'ERR_POSTERN_STORE_UNAVAILABLE', false],
      [50, 'request failed', 'ERR_POSTERN_INTERNAL', true],
    ],
  );
  // The database is away, and this node does not know what others have revoked.
  others.isCurrent = false;
  assert.equal(await ask('known'), 503);
  assert.equal(await ask('known', '/metrics'), 200, 'the metrics tell that the store is away');
});

// Process of test modules: they are shared by everything in a process.
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { after, beforeEach, suite, test } from 'node:test';
import type { PreparedModule } from '../../../src/modules/contract/prepared-module.ts';
import { ask, begin, PROTOCOLS } from './hooked-client.ts';
import { HookedWorld } from './hooked-world.ts';

type Judge = NonNullable<PreparedModule['judge']>;
const PASS = { isPass: true, reason: 'test' } as const;

/** What no module may answer by its type. A bug in one, or a promise of another library, could. */
const ODD: Readonly<Record<string, () => unknown>> = {
  nothing: () => undefined,
  null: () => null,
  true: () => true,
  'an empty object': () => ({}),
  'a pass by another name': () => ({ pass: true, ok: true, reason: 'test' }),
  'a pass in a text': () => ({ isPass: 'true', reason: 'test' }),
  'a pass in a list': () => [PASS],
  // biome-ignore lint/suspicious/noThenProperty: that is the point
  'a promise of another library': () => ({ then: (resolve: (value: unknown) => void) => resolve(PASS) }),
  'a redirect to nowhere': () => ({ isAnswer: true, status: 302, reason: 'test', ruleText: '' }),
  'a redirect to a path': () => ({ isAnswer: true, status: 302, location: '//evil', reason: 'test', ruleText: '' }),
  'a redirect of two lines': () => ({
    ...{ isAnswer: true, status: 302, location: 'https://a/\r\nset-cookie: a=1', reason: 'test', ruleText: '' },
  }),
  'an exception': () => {
    throw new Error('a bug of the test');
  },
};
const LATE: Readonly<Record<string, () => unknown>> = {
  ...Object.fromEntries(
    Object.entries(ODD)
      .filter(([name]) => name !== 'a promise of another library')
      .map(([name, answer]) => [`${name}, later`, () => new Promise(setImmediate).then(answer)]),
  ),
  'a rejection with nothing': () => Promise.reject(undefined),
};

const world = await HookedWorld.open({ after });
const { edge, hooks, ways, routePaths } = world;
let received = 0;

beforeEach(() => {
  hooks.reset();
  received = 0;
  world.serve = (_request, response) => {
    received += 1;
    response.end('admitted');
  };
});

suite('a module whose verdict is none', () => {
  for (const [name, answer] of Object.entries({ ...ODD, ...LATE })) {
    test(`admits nobody: ${name}`, async () => {
      for (const module of ['first', 'second'] as const) {
        hooks.reset();
        hooks[module] = { judge: answer as Judge };
        for (const { host } of ways) {
          for (const protocol of PROTOCOLS) {
            const { status, body } = await ask(edge, host, protocol);
            assert.deepEqual([status, body.includes('a bug of the test')], [500, false], `${module} ${protocol}`);
          }
        }
      }
      assert.equal(received, 0, 'an upstream got a request');
    });
  }

  test('admits no WebSocket', async () => {
    world.upgrade = (_request: IncomingMessage, socket) => {
      received += 1;
      socket.destroy();
    };
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    };
    for (const answer of Object.values({ ...ODD, ...LATE })) {
      hooks.second = { judge: answer as Judge };
      assert.equal((await ask(edge, ways[0]?.host ?? '', 'http/1.1', { headers })).status, 500);
    }
    assert.equal(received, 0, 'an upstream got a request');
  });

  test('ends requests in progress when the configuration changes', { timeout: 120_000 }, async () => {
    const routePath = routePaths[0] as string;
    world.serve = (_request, response) => void response.write('some');
    for (const answer of Object.values({ ...ODD, ...LATE })) {
      for (const protocol of PROTOCOLS) {
        hooks.reset();
        const { answered } = await begin(edge, ways[0]?.host ?? '', protocol);
        const { incoming } = await answered;
        const ended = new Promise((resolve) =>
          incoming
            .on('error', () => {})
            .resume()
            .on('close', resolve),
        );
        hooks.first = { judge: answer as Judge };
        await edge.api('PUT', `${routePath}/compression`, { enabled: protocol === 'h2' });
        await ended;
      }
    }
  });
});

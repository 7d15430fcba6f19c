import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import type { LoginProblemKind, LoginProblemReason } from '../../../src/modules/login/provider/login-problem.ts';
import type { Endpoint } from './hostile-provider.ts';
import { openHostileWorld, refused } from './hostile-world.ts';

interface BadAnswer {
  readonly name: string;
  readonly kind: LoginProblemKind;
  readonly reason: LoginProblemReason;
  answer(response: ServerResponse, issuer: string): void;
}

const JSON_HEADERS = { 'content-type': 'application/json' };

const ANSWERS: readonly BadAnswer[] = [
  {
    name: 'huge, with its length',
    kind: 'provider',
    reason: 'too_large',
    answer: (response) => response.writeHead(200, JSON_HEADERS).end(`{"a":"${'x'.repeat(100_000)}"}`),
  },
  {
    name: 'endless',
    kind: 'provider',
    reason: 'too_large',
    answer: (response) => {
      response.writeHead(200, JSON_HEADERS);
      const more = (): void => {
        while (!response.destroyed && response.write(' '.repeat(16_384)));
      };
      response.on('drain', more);
      more();
    },
  },
  {
    name: 'slow, a byte at a time',
    kind: 'unreachable',
    reason: 'timeout',
    answer: (response) => {
      response.writeHead(200, JSON_HEADERS);
      const drip = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(drip));
    },
  },
  { name: 'silent', kind: 'unreachable', reason: 'timeout', answer: () => {} },
  {
    name: 'broken off',
    kind: 'unreachable',
    reason: 'unreachable',
    answer: (response) => {
      response.writeHead(200, { ...JSON_HEADERS, 'content-length': '100' });
      response.write('{', () => response.destroy());
    },
  },
  {
    name: 'a redirect to itself',
    kind: 'provider',
    reason: 'redirected',
    answer: (response, issuer) => response.writeHead(302, { location: `${issuer}/elsewhere` }).end(),
  },
  {
    name: 'a redirect that keeps the method',
    kind: 'provider',
    reason: 'redirected',
    answer: (response, issuer) => response.writeHead(307, { location: `${issuer}/elsewhere` }).end(),
  },
  {
    name: 'a 500',
    kind: 'unreachable',
    reason: 'unexpected_status',
    answer: (response) => response.writeHead(500, JSON_HEADERS).end('{"error":"server_error"}'),
  },
  {
    name: 'a 200 with HTML',
    kind: 'provider',
    reason: 'malformed_answer',
    answer: (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html></html>'),
  },
  {
    name: 'a 200 with a list',
    kind: 'provider',
    reason: 'malformed_answer',
    answer: (response) => response.writeHead(200, JSON_HEADERS).end('[]'),
  },
  {
    name: 'a 200 with half a document',
    kind: 'provider',
    reason: 'malformed_answer',
    answer: (response) => response.writeHead(200, JSON_HEADERS).end('{"access_token":"acc'),
  },
];

for (const endpoint of ['discovery', 'token', 'jwks', 'userinfo'] as const satisfies readonly Endpoint[]) {
  for (const bad of ANSWERS) {
    test(`rejects a response that is ${bad.name}, at the ${endpoint} endpoint`, async (t) => {
      const world = await openHostileWorld(t, {}, bad.reason === 'timeout' ? { isImpatientAt: endpoint } : {});
      let elsewhere = 0;
      world.provider.bend = {
        // Without an email in the ID token, userinfo is requested.
        idTokenClaims: (claims) => ({ ...claims, email: undefined }),
        answer: (asked, request, response) => {
          if (request.url === '/elsewhere') elsewhere += 1;
          if (asked === endpoint) bad.answer(response, world.provider.issuer);
          return asked === endpoint;
        },
      };
      await refused(world.login(), bad.kind, bad.reason);
      assert.equal(world.provider.requests.at(-1), endpoint, 'nothing was asked after the bad answer');
      assert.equal(elsewhere, 0);
    });
  }
}

test('a missing provider is unreachable', async (t) => {
  const world = await openHostileWorld(t);
  const gone = world.clientWith({ issuer: 'http://127.0.0.1:1' });
  await refused(world.authorize(gone), 'unreachable', 'unreachable');
});

test('does not contact an issuer on plain http that settings do not allow', async (t) => {
  const world = await openHostileWorld(t);
  const plain = world.clientWith({ issuer: 'http://idp.example' });
  await refused(world.authorize(plain), 'configuration', 'plain_http');
});

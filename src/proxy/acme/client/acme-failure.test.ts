import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failureOf, problemOf } from './acme-failure.ts';

const answer = { status: 400, retryAtMs: null, action: 'rejected the order' };

test('a problem of a known type has its own code', () => {
  const problem = problemOf({ type: 'urn:ietf:params:acme:error:rateLimited', detail: 'too many' });
  assert.equal(failureOf('ca.example', { ...answer, problem }).code, 'ERR_POSTERN_ACME_RATE_LIMITED');
});

test('a problem whose type is the name of an object property rejects the order', () => {
  for (const type of ['constructor', '__proto__', 'toString']) {
    const problem = problemOf({ type: `urn:ietf:params:acme:error:${type}`, detail: 'odd' });
    assert.equal(failureOf('ca.example', { ...answer, problem }).code, 'ERR_POSTERN_ACME_REJECTED', type);
  }
});

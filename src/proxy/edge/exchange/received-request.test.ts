import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteSnapshot } from '../../snapshot/edge-snapshot.ts';
import { moduleDecisions } from './received-request.ts';

const limit = { module: 'a_limit' };
const others = ['ip_restriction', 'access', 'oidc', 'access'].map((module) => ({ module }));
const requestChangers = [{ name: 'changes' }];
const route = { steps: others, requestChangers } as unknown as RouteSnapshot;
const limited = {
  steps: [limit, ...others, { ...limit, isLater: true }],
  requestChangers,
} as unknown as RouteSnapshot;

const answeredBy = null;

function said(on: RouteSnapshot, refusedBy: string | null, endingStep: number | null, targetName: string | null) {
  return Object.values(
    moduleDecisions({ route: on, refusedBy, answeredBy, endingStep, targetName, otherDecision: null }),
  ).join(' ');
}

test('modules before the one that refused have allowed it, and those after it were not asked', () => {
  assert.equal(said(route, null, null, 'upstream'), 'allow allow allow');
  assert.equal(said(route, 'ip_restriction:address', 0, null), 'block invalid invalid');
  assert.equal(said(route, 'oidc:login', 2, null), 'allow invalid block');
  assert.equal(said(route, 'access:none', 3, null), 'allow block allow');
  assert.equal(said(route, 'changes:path', null, null), 'allow allow allow');
  assert.equal(said(route, 'backend:refused', null, null), 'allow allow allow');
  assert.equal(said(route, 'cut:ip_restriction', null, 'upstream'), 'allow allow allow');
  assert.equal(said(route, 'client:gone', null, null), 'invalid invalid invalid');
  const nowhere = { otherDecision: null, route: null, refusedBy: null, answeredBy, endingStep: null, targetName: null };
  assert.deepEqual(moduleDecisions(nowhere), {});
});

test('a token that is refused keeps the login and the rules from being asked', () => {
  assert.equal(said(route, 'access:token', 1, null), 'allow block invalid');
});

test('a module with two places refuses at either, and has allowed what its second place did not see', () => {
  assert.equal(said(limited, 'a_limit:rate', 0, null), 'block invalid invalid invalid');
  assert.equal(said(limited, 'a_limit:rate', 5, null), 'block allow allow allow');
  assert.equal(said(limited, 'oidc:login', 3, null), 'allow allow invalid block');
  assert.equal(said(limited, null, null, 'upstream'), 'allow allow allow allow');
});

test('a redirect is an answer, not a refusal', () => {
  const ended = { refusedBy: null, answeredBy: 'oidc:rule', targetName: null, otherDecision: null };
  const decisions = moduleDecisions({ route, ...ended, endingStep: 2 });
  assert.deepEqual(decisions, { ip_restriction: 'allow', access: 'invalid', oidc: 'answer' });
  const twice = moduleDecisions({ route: limited, ...ended, answeredBy: 'a_limit:rule', endingStep: 0 });
  assert.equal(Object.values(twice).join(' '), 'answer invalid invalid invalid');
});

test('a module that let a request pass in another way than the rest says so', () => {
  const otherDecision = { module: 'oidc', decision: 'allow_while_open' } as const;
  const said = (refusedBy: string | null, endingStep: number | null): string =>
    Object.values(
      moduleDecisions({ route, refusedBy, answeredBy, endingStep, targetName: 'upstream', otherDecision }),
    ).join(' ');
  assert.equal(said(null, null), 'allow allow allow_while_open');
  assert.equal(said('ip_restriction:address', 0), 'block invalid invalid');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteSnapshot } from '../../snapshot/edge-snapshot.ts';
import { moduleDecisions } from './module-decisions.ts';

const route = {
  steps: ['ip_restriction', 'access', 'oidc', 'access'].map((module) => ({ module })),
  requestChangers: [{ name: 'changes' }],
} as unknown as RouteSnapshot;

test('modules before the one that refused have allowed it, and those after it were not asked', () => {
  const said = (refusedBy: string | null, targetName: string | null = null): string =>
    Object.values(moduleDecisions({ route, refusedBy, targetName })).join(' ');
  assert.equal(said(null, 'upstream'), 'allow allow allow');
  assert.equal(said('ip_restriction:address'), 'block invalid invalid');
  assert.equal(said('oidc:login'), 'allow invalid block');
  assert.equal(said('access:none'), 'allow block allow');
  assert.equal(said('changes:path'), 'allow allow allow');
  assert.equal(said('backend:refused', null), 'allow allow allow');
  assert.equal(said('cut:ip_restriction', 'upstream'), 'allow allow allow');
  assert.equal(said('client:gone'), 'invalid invalid invalid');
  assert.deepEqual(moduleDecisions({ route: null, refusedBy: null, targetName: null }), {});
});

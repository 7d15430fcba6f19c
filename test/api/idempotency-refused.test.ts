import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { TestWorld } from '../support/test-world.ts';

test('a POST that takes no Idempotency-Key refuses one, and changes nothing', async () => {
  const world = await TestWorld.open({ after });
  const { paths } = (await world.api('GET', '/openapi.json')).body;
  const { revision } = (await world.api('POST', '/changesets', { operations: [], dry_run: true })).body;
  const withKey = { headers: { 'idempotency-key': 'once' } };
  const taking: string[] = [];
  const refusing: string[] = [];
  for (const [path, { post }] of Object.entries<{ post?: { parameters?: { $ref: string }[] } }>(paths)) {
    if (post === undefined) continue;
    const takes = post.parameters?.some(({ $ref }) => $ref.endsWith('/IdempotencyKey')) === true;
    (takes ? taking : refusing).push(path);
    if (takes) continue;
    const answer = await world.api('POST', path.replaceAll(/\{[^}]+\}/g, '1'), {}, withKey);
    // What has a parameter in its path may find nothing there, and a body is checked first.
    if (answer.status === 400 && answer.body.error_code === 'ERR_POSTERN_INVALID_HEADER')
      assert.match(answer.body.msg, /takes no Idempotency-Key/);
    else assert.ok([400, 404, 415].includes(answer.status), `${path}: ${answer.text}`);
  }
  assert.ok(taking.length > 10 && refusing.includes('/changesets'), `${taking.length}, ${refusing.length}`);
  const operations = [{ method: 'POST', path: '/ip_policies', body: {} }];
  const refused = await world.api('POST', '/changesets', { operations }, withKey);
  assert.deepEqual([refused.status, refused.body.error_code], [400, 'ERR_POSTERN_INVALID_HEADER']);
  assert.match(refused.body.msg, /expected_revision/);
  const now = (await world.api('POST', '/changesets', { operations: [], dry_run: true })).body.revision;
  assert.equal(now, revision);
});

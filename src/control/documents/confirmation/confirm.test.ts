import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { CommitResult, WriteSet } from '../../../store/store.ts';
import { confirmChange } from './confirm.ts';

const KEY = { kind: 'api_key', id: 'ak_1', revision: 7, parent: null, doc: {}, secrets: null };

function confirm(result: CommitResult, authenticateAgain: () => Promise<void> = async () => undefined) {
  const commits: WriteSet[] = [];
  const store = {
    commit: async (writeSet: WriteSet) => {
      commits.push(writeSet);
      return result;
    },
  };
  const request = {
    principal: { apiKeyId: KEY.id, scopes: ['*'] },
    authenticateAgain,
    operationId: 'op',
    address: null,
  };
  const confirmation = { revision: 3, message: '', expect: [] };
  const done = confirmChange(confirmation, request as never, { store, replica: { get: () => KEY } } as never);
  return { commits, done };
}

suite('a confirmation, which reads a long entry first', () => {
  test('counts only if its key is as it was', async () => {
    const { commits, done } = confirm({ ok: true, revision: 9, changes: [] });
    assert.deepEqual((await done).body, { revision: 9, confirms: 3 });
    assert.deepEqual(commits[0]?.expect, [{ kind: KEY.kind, id: KEY.id, revision: 7 }]);
  });

  test('is refused if its key was deleted meanwhile', async () => {
    const { commits, done } = confirm({ ok: true, revision: 9, changes: [] }, () => Promise.reject(new Error('gone')));
    await assert.rejects(done, /gone/);
    assert.deepEqual(commits, []);
  });

  test('is to be repeated if its key changes in this moment', async () => {
    const { done } = confirm({ ok: false, reason: 'conflict', key: KEY, actual: null });
    await assert.rejects(done, { code: 'ERR_POSTERN_TOO_MANY_CONFLICTS' });
  });
});

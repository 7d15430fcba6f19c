import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashToken } from '../../../lib/text/token-hash.ts';
import type { FollowedKey, FollowedRecords } from '../../contract/kept-records.ts';
import { ACCOUNT_KIND, TOKEN_KIND } from '../../service-account-records.ts';
import { AccountTokens } from './account-tokens.ts';

const TEXT = `pst_${'a'.repeat(43)}`;
const LINE = `Bearer ${TEXT}`;

/** One active account with one token, in records that the test changes. */
function world() {
  const docs = new Map<string, object>([
    ['sa_1', { name: 'ci', active: true }],
    ['sat_1', tokenDoc()],
  ]);
  let notify = (_changed: readonly FollowedKey[]): void => {};
  const records = {
    isCurrent: () => true,
    all: (kind: string) => [{ id: kind === ACCOUNT_KIND ? 'sa_1' : 'sat_1' }],
    get: (_kind: string, id: string) => docs.has(id) && { doc: docs.get(id) },
    onChange: (listener: typeof notify) => {
      notify = listener;
      return () => {};
    },
  } as unknown as FollowedRecords;
  const tokens = new AccountTokens(records, () => {});
  const change = (kind: string, id: string, doc: object | null): void => {
    if (doc === null) docs.delete(id);
    else docs.set(id, doc);
    notify([{ kind, id }]);
  };
  const token = tokens.find(TEXT);
  assert.ok(token !== undefined);
  tokens.remember(LINE, token);
  assert.equal(tokens.knownByLine(LINE), token);
  return { tokens, token, change };
}

function tokenDoc(expiresAt = '2030-01-01T00:00:00Z') {
  return { service_account_id: 'sa_1', expires_at: expiresAt, internal: { token_hash: hashToken(TEXT) } };
}

test('a remembered line lives no longer than its token', () => {
  const { tokens, token, change } = world();
  change(TOKEN_KIND, 'sat_1', null);
  assert.deepEqual([tokens.knownByLine(LINE), tokens.find(TEXT), token.state(0)], [undefined, undefined, 'deleted']);
  change(TOKEN_KIND, 'sat_2', tokenDoc());
  const second = tokens.find(TEXT);
  assert.deepEqual([tokens.knownByLine(LINE), second?.id, second?.state(0)], [undefined, 'sat_2', 'valid']);
});

test('what a remembered line finds is inactive or expired as soon as its account or token is', () => {
  const { tokens, token, change } = world();
  change(ACCOUNT_KIND, 'sa_1', { name: 'ci', active: false });
  tokens.remember(LINE, token);
  assert.equal(tokens.knownByLine(LINE)?.state(0), 'inactive');
  change(ACCOUNT_KIND, 'sa_1', { name: 'ci', active: true });
  change(TOKEN_KIND, 'sat_1', tokenDoc('2026-01-01T00:00:00Z'));
  tokens.remember(LINE, token);
  assert.equal(tokens.knownByLine(LINE)?.state(Date.parse('2026-01-01T00:00:00Z')), 'expired');
});

test('remembers a bounded number of lines, and no long ones', () => {
  const { tokens, token } = world();
  const long = `Bearer ${' '.repeat(300)}${TEXT}`;
  tokens.remember(long, token);
  assert.equal(tokens.knownByLine(long), undefined);
  for (let spaces = 1; spaces <= 1000; spaces += 1) tokens.remember(`${LINE}-${spaces}`, token);
  assert.equal(tokens.knownByLine(LINE), undefined);
});

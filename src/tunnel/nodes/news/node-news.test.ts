import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { News, NewsSeal } from './news.ts';
import { FollowedNews } from './node-news.ts';

/** Marks sealed texts. */
const seal: NewsSeal = {
  seal: (purpose, text) => `${purpose}|${text}`,
  open: (purpose, sealed) => (sealed.startsWith(`${purpose}|`) ? sealed.slice(purpose.length + 1) : null),
};
const sealed = (value: unknown): string => seal.seal('news of nodes', JSON.stringify(value));

function followed(revision = 5) {
  const state = { revision, nowMs: 0, closes: 0, heard: [] as News[], behind: [] as string[], hasEnded: false };
  const news = new FollowedNews(
    'nd_other',
    {
      close: () => {
        state.closes += 1;
      },
    },
    {
      seal,
      monotonicMs: () => state.nowMs,
      revision: () => state.revision,
      heard: (_from, each) => void state.heard.push(each),
      behind: (from) => void state.behind.push(from),
    },
    () => {
      state.hasEnded = true;
    },
  );
  const say = (line: unknown): void => news.onLine(typeof line === 'string' ? line : JSON.stringify(line));
  return { state, news, say };
}

suite('the news of another node', () => {
  const put = { kind: 'api_key', id: 'ak_1', parent: null, revision: 6, doc: {}, secrets: null };
  const wrong: readonly (readonly [string, unknown])[] = [
    ['no JSON', '{'],
    ['no object', 'null'],
    ['another version', { v: 2 }],
    ['a revision that is none', { v: 1, revision: -1 }],
    ['news that are not sealed', { v: 1, sealed: JSON.stringify({ logins: [] }) }],
    ['sealed text that is no JSON', { v: 1, sealed: 'news of nodes|{' }],
    ['neither records nor logins', { v: 1, sealed: sealed({ other: 1 }) }],
    ['a change without a record', { v: 1, sealed: sealed({ after: 5, revision: 6, changes: [{ op: 'put' }] }) }],
    [
      'a document that is no object',
      { v: 1, sealed: sealed({ after: 5, revision: 6, changes: [{ op: 'put', record: { ...put, doc: 'x' } }] }) },
    ],
    ['an unknown change of a login', { v: 1, sealed: sealed({ logins: [{ op: 'x', sessionId: 'a', keyHash: 'b' }] }) }],
  ];
  for (const [what, line] of wrong) {
    test(`with ${what} end the feed, and change nothing`, () => {
      const { state, say } = followed();
      say(line);
      assert.deepEqual([state.closes, state.heard, state.behind], [1, [], []]);
    });
  }

  test('are known up to the last line, once this node has what the other had at first', () => {
    const { state, news, say } = followed(5);
    assert.equal(news.knownAtMs, Number.NEGATIVE_INFINITY);
    state.nowMs = 100;
    say({ v: 1, revision: 7 });
    assert.deepEqual([state.behind, news.knownAtMs], [['nd_other'], Number.NEGATIVE_INFINITY]);
    state.revision = 7;
    state.nowMs = 600;
    say({ v: 1 });
    assert.equal(news.knownAtMs, 600);
    const told = { after: 7, revision: 8, changes: [{ op: 'put', record: { ...put, revision: 8 } }] };
    say({ v: 1, sealed: sealed(told) });
    say({ v: 1, sealed: sealed({ logins: [{ op: 'end', sessionId: 'as_1', keyHash: 'hash' }] }) });
    assert.deepEqual(
      [state.heard, state.closes],
      [[told, { logins: [{ op: 'end', sessionId: 'as_1', keyHash: 'hash' }] }], 0],
    );
  });
});

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Change, CommitListener } from '../../../store/store.ts';
import type { FeedFollower } from '../links/peer-links.ts';
import { MAX_NEWS_CHARACTERS, type NewsLine, OwnNews } from './news.ts';

interface Told {
  readonly after: number;
  readonly revision: number;
  readonly changes: readonly Change[];
}

/** The lines that a follower of this node gets, unsealed. */
function followed() {
  let listener: CommitListener = () => {};
  const lines: Told[] = [];
  const follower = {
    nodeId: 'nd_1',
    send: (text: string) => {
      const { sealed } = JSON.parse(text) as NewsLine;
      if (sealed !== undefined) lines.push(JSON.parse(sealed) as Told);
    },
    onGone: () => {},
  } as unknown as FeedFollower;
  const news = new OwnNews({
    store: {
      onCommitted: (given) => {
        listener = given;
        return () => {};
      },
      seal: (_purpose, text) => text,
      open: (_purpose, text) => text,
      logins: { onChanged: () => () => {} },
    },
    links: { serveFeed: (_name, serve) => serve(follower) },
    revision: () => 4,
  });
  news.close();
  return { lines, commit: (changes: readonly Change[]) => listener(changes) };
}

function put(revision: number, characters = 10): Change {
  const doc = { text: 'x'.repeat(characters) };
  return { op: 'put', record: { kind: 'edge', id: `e${revision}`, parent: null, revision, doc, secrets: null } };
}

const gone: Change = { op: 'delete', key: { kind: 'edge', id: 'e1' }, revision: 7 };

suite('the news of this node', () => {
  test('has commits that became known together in one line', () => {
    const { lines, commit } = followed();
    commit([put(5), put(6), gone]);
    assert.deepEqual(lines, [{ after: 4, revision: 7, changes: [put(5), put(6), gone] }]);
  });

  test('has each of them in its own line if they are too long for one', () => {
    const { lines, commit } = followed();
    commit([put(5, MAX_NEWS_CHARACTERS / 2), put(6, MAX_NEWS_CHARACTERS / 2), gone]);
    assert.deepEqual(
      lines.map(({ after, revision, changes }) => [after, revision, changes.length]),
      [
        [4, 5, 1],
        [5, 6, 1],
        [6, 7, 1],
      ],
    );
  });

  test('has only the deletions of a commit that is too long', () => {
    const { lines, commit } = followed();
    commit([put(5), put(6, MAX_NEWS_CHARACTERS), { ...gone, revision: 6 }]);
    assert.deepEqual(
      lines.map(({ after, revision, changes }) => [after, revision, changes.length]),
      [
        [4, 5, 1],
        [6, 6, 1],
      ],
    );
  });
});

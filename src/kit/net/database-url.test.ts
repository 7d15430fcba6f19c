import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { databaseServers, withServersOf } from './database-url.ts';

suite('databaseServers', () => {
  for (const [text, urls, mustBeWritable] of [
    ['postgres://u:p@db/postern', ['postgres://u:p@db/postern'], false],
    ['postgresql:///postern?host=/run/postgresql', ['postgresql:///postern?host=/run/postgresql'], false],
    ['postgres://u@db/x?target_session_attrs=any', ['postgres://u@db/x?target_session_attrs=any'], false],
    ['postgres://u@db/x?target_session_attrs=primary', ['postgres://u@db/x?target_session_attrs=primary'], true],
    [
      'postgres://u:a,b@one:1,two,[::1]:3/postern?sslmode=require',
      ['one:1', 'two', '[::1]:3'].map((host) => `postgres://u:a,b@${host}/postern?sslmode=require`),
      true,
    ],
  ] as const) {
    test(`reads ${text}`, () => assert.deepEqual(databaseServers(text), { urls, mustBeWritable }));
  }

  for (const text of [
    'mysql://u@db/x',
    'postgres://one,,two/x',
    'postgres://one,two:port/x',
    'postgres://u:a/b@db/x',
    'postgres://db/x#fragment',
    'postgres://one,two/x?target_session_attrs=standby',
  ]) {
    test(`rejects ${text}`, () => assert.equal(databaseServers(text), null));
  }
});

test('withServersOf shows every server of a masked URL', () => {
  const given = 'postgres://u:secret@one:1,two/x';
  assert.equal(withServersOf('postgres://u:***@one:1/x', given), 'postgres://u:***@one:1,two/x');
});

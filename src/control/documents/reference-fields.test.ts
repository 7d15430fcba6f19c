import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { reference } from '../../kit/schema/annotations.ts';
import { referenceFieldsOf, referencesIn } from './reference-fields.ts';

const ids = reference({ kinds: ['account'] }, Type.Array(Type.String()));
const rule = Type.Object({ accounts: Type.Optional(ids), others: Type.Optional(Type.Array(Type.String())) });
const fields = referenceFieldsOf(Type.Object({ owner: ids, allow: Type.Array(rule), deny: Type.Array(rule) }));
const kindOfId = (id: string): string | null => (id.startsWith('sa_') ? 'account' : null);

test('finds references in the objects of lists', () => {
  const config = { owner: ['sa_1'], allow: [{ others: ['x'] }, { accounts: ['sa_2', 'sa_3'] }], deny: [] };
  const found = referencesIn(config, fields, kindOfId, '/access');
  assert.deepEqual(
    found.map(({ field, to, path }) => [field, to.id, path]),
    [
      ['owner', 'sa_1', '/access/owner'],
      ['allow[1].accounts', 'sa_2', '/access/allow/1/accounts'],
      ['allow[1].accounts', 'sa_3', '/access/allow/1/accounts'],
    ],
  );
});

test('names the list and the position of an id of another kind', () => {
  const config = { owner: [], allow: [], deny: [{ accounts: ['ak_1'] }] };
  assert.throws(() => referencesIn(config, fields, kindOfId, ''), /deny\.0\.accounts names "ak_1"/);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { basicCredentials, hasBasicCredentials } from './basic-auth-runtime.ts';

const encoded = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;

test('reads what a client writes, in any characters', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', maxLength: 60 }),
      fc.string({ unit: 'grapheme', maxLength: 60 }),
      (name, password) => {
        const credentials = basicCredentials([encoded(`${name.replaceAll(':', '')}:${password}`)]);
        if (/\p{Cc}/u.test(`${name}${password}`)) assert.equal(credentials, null);
        else {
          assert.equal(credentials?.username, name.replaceAll(':', '').normalize('NFC'));
          assert.equal(credentials?.password, password.normalize('NFC'));
        }
      },
    ),
  );
});

test('any other text names nobody, and whatever looks like a password is not forwarded', () => {
  const parts = fc.constantFrom(
    'Basic',
    'basic',
    'BASIC',
    ' ',
    '\t',
    '=',
    'YTpi',
    'YTpi',
    'YQ==',
    'Og==',
    ',',
    ':',
    'é',
    'Bearer',
    '\u0000',
  );
  fc.assert(
    fc.property(
      fc.array(
        fc.array(parts, { maxLength: 6 }).map((some) => some.join('')),
        { maxLength: 3 },
      ),
      (lines) => {
        const credentials = basicCredentials(lines);
        if (credentials === null) return;
        assert.equal(lines.length, 1);
        assert.ok(hasBasicCredentials(lines));
        const [, base64 = ''] = lines[0]?.trim().split(/ +/) ?? [];
        assert.equal(Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64'), base64);
      },
    ),
  );
});

test('only one spelling of the same bytes is accepted', () => {
  // The last character has bits that decoders ignore.
  assert.equal(basicCredentials(['Basic YTpiYg==']) === null, false);
  for (const other of ['YTpiYh==', 'YTpiYg=', 'YTpiYg', 'YTpiYg===', 'YTpi Yg==', 'YTpi-Yg=', 'YTpi_Yg=']) {
    assert.equal(basicCredentials([`Basic ${other}`]), null, other);
    assert.ok(hasBasicCredentials([`Basic ${other}`]));
  }
  assert.equal(basicCredentials([encoded(`a:${'x'.repeat(2_000)}`)]), null);
  assert.equal(hasBasicCredentials(['Basically fine', 'Bearer basic']), false);
});

test('a password is found behind other credentials, as a proxy joins two headers', () => {
  for (const line of ['Bearer x, Basic YTpiYg==', 'Bearer x,basic YTpiYg==', ', Basic YTpiYg==', ' ,Basic'])
    assert.ok(hasBasicCredentials([line]), line);
  for (const line of ['Digest username="a", basic="b"', 'Digest username="a", basic = "b"', 'Bearer x, Basically y'])
    assert.equal(hasBasicCredentials([line]), false, line);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAddressClaim } from './address-claims.ts';

test('finds claims about addresses in any spelling', () => {
  for (const name of [
    'email',
    'Email',
    'EMAIL',
    'e-mail',
    'emails',
    '\uff45mail',
    ' email ',
    'email.',
    '.email',
    '["email"]',
    'user.email',
    'a.b.email',
    'https://example.com/email',
    'urn:example:email',
    'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress',
    'email_verified',
    'emailVerified',
    'user.email_verified',
    'mail',
  ]) {
    assert.equal(isAddressClaim(name, ['x']), true, name);
  }
});

test('finds addresses in claims that people choose, and leaves names alone', () => {
  for (const name of ['preferred_username', 'upn', 'Preferred_Username', 'unique_name', 'user.name', 'nickname']) {
    assert.equal(isAddressClaim(name, ['other', 'ana@example.com']), true, name);
    assert.equal(isAddressClaim(name, ['ana', 7, true]), false, name);
  }
});

test('leaves other claims alone, whatever they contain', () => {
  for (const name of [
    'groups',
    'sub',
    'hd',
    'user_email_domain',
    'email_groups',
    'emailing',
    'realm_access.roles',
    '',
  ]) {
    assert.equal(isAddressClaim(name, ['ana@example.com']), false, name);
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAddressClaim } from './email-address.ts';

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
    'user_email',
    'primary_email',
    'primaryEmail',
    'https://example.com/work-email',
    'contact_email_address',
    'user_email_verified',
    'is_email_verified',
  ]) {
    assert.equal(isAddressClaim(name, ['x']), true, name);
  }
});

test('finds addresses in claims that people choose, and leaves names alone', () => {
  for (const name of [
    'preferred_username',
    'upn',
    'Preferred_Username',
    'unique_name',
    'user.name',
    'nickname',
    'primary_mail',
    'workMails',
    'account_login',
  ]) {
    assert.equal(isAddressClaim(name, ['other', 'ana@example.com']), true, name);
    assert.equal(isAddressClaim(name, ['ana', 7, true]), false, name);
  }
});

test('finds addresses below a claim about addresses', () => {
  for (const name of ['email.value', 'emails.primary', 'user.primary_email.value', 'mail.0']) {
    assert.equal(isAddressClaim(name, ['ana@example.com']), true, name);
    assert.equal(isAddressClaim(name, ['work']), false, name);
  }
  assert.equal(isAddressClaim('https://email.example.com/groups', ['team@example.com']), false);
});

test('leaves other claims alone, whatever they contain', () => {
  for (const name of [
    'groups',
    'sub',
    'hd',
    'user_email_domain',
    'email_groups',
    'emailing',
    'group_name',
    'mailing_lists',
    'realm_access.roles',
    '',
  ]) {
    assert.equal(isAddressClaim(name, ['ana@example.com']), false, name);
  }
});

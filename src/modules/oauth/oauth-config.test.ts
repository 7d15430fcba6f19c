import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../kit/json.ts';
import { createDecoder } from '../../kit/schema/decode-body.ts';
import type { Identity } from '../contract/decides.ts';
import { acceptOauthForm } from './oauth.ts';
import { checkOauth, membership, type OauthConfig, oauthConfig } from './oauth-config.ts';
import { google } from './providers.ts';

const decoder = createDecoder(oauthConfig);
const client = { client_id: 'c', client_secret: 's' };

function problemsOf(body: JsonObject): readonly string[] {
  const decoded = decoder.decode(body);
  const problems = decoded.ok ? checkOauth(decoded.value as unknown as OauthConfig) : decoded.problems;
  return problems.map(({ path }) => path);
}

for (const [name, body, wanted] of [
  ['no provider', { provider: {} }, ['/provider']],
  ['two providers', { provider: { github: client, google: client } }, ['/provider']],
  ['an unknown provider', { provider: { myspace: client } }, ['/provider/myspace']],
  ['no client id', { provider: { github: { client_secret: 's' } } }, ['/provider/github/client_id']],
  ['upper case in an address', rules({ email_addresses: ['Ana@example.com'] }), ['/provider/github/email_addresses']],
  [
    'a doubled address',
    rules({ email_addresses: ['a@b.example', 'a@b.example'] }),
    ['/provider/github/email_addresses'],
  ],
  ['no address', rules({ email_addresses: ['ana'] }), ['/provider/github/email_addresses']],
  ['upper case in a domain', rules({ email_domains: ['Example.com'] }), ['/provider/github/email_domains']],
  ['a domain that is not ASCII', rules({ email_domains: ['müller.example'] }), ['/provider/github/email_domains']],
  ['invalid punycode', rules({ email_domains: ['xn--a.example'] }), ['/provider/github/email_domains']],
  ['a wildcard', rules({ email_domains: ['*.example.com'] }), ['/provider/github/email_domains']],
  ['a team without organization', rules({ teams: ['ops'] }), ['/provider/github/teams']],
  ['a team of three parts', rules({ teams: ['a/b/c'] }), ['/provider/github/teams']],
  [
    'scopes without the address',
    rules({ scopes: ['read:org'], email_domains: ['a.example'] }),
    ['/provider/github/scopes'],
  ],
  ['scopes without members', rules({ scopes: ['user:email'], teams: ['acme/ops'] }), ['/provider/github/scopes']],
  ['teams of another provider', { provider: { gitlab: { ...client, teams: ['a/b'] } } }, ['/provider/gitlab/teams']],
  ['a short interval', { ...rules({}), auth_check_interval: 59 }, ['/auth_check_interval']],
  ['a year and a second', { ...rules({}), inactivity_timeout: 31_536_001 }, ['/inactivity_timeout']],
  ['valid rules', rules({ email_domains: ['xn--mller-kva.example'], teams: ['acme/ops', '123'] }), []],
] as const) {
  test(`checks ${name}`, () => assert.deepEqual(problemsOf(body as unknown as JsonObject), wanted));
}

function rules(fields: object): { readonly provider: object } {
  return { provider: { github: { ...client, ...fields } } };
}

test("an agent's form becomes the configuration, or says what is wrong", () => {
  const form = { provider: 'github', ...client, scopes: [], email_addresses: [], email_domains: [], organizations: [] };
  const limits = { options_passthrough: false, cookie_prefix: '', inactivity_timeout: 0, maximum_duration: 0 };
  const accepted = acceptOauthForm({ ...form, ...limits, teams: ['acme/ops'], auth_check_interval: 0 });
  assert.ok('config' in accepted);
  const { provider } = accepted.config as unknown as OauthConfig;
  assert.deepEqual(provider.github?.teams, ['acme/ops']);
  assert.equal(provider.google, null);
  for (const [changed, message] of [
    [{ provider: 'myspace' }, /provider must be one of/],
    [{ provider: 'google', teams: ['acme/ops'] }, /for the provider github/],
    [{ email_domains: ['*'] }, /must be domains/],
  ] as const) {
    const refused = acceptOauthForm({ ...form, ...limits, teams: [], auth_check_interval: 0, ...changed });
    assert.ok('problem' in refused && message.test(refused.problem), JSON.stringify(refused));
  }
});

const admits = membership(google, {
  client_id: 'app',
  client_secret: '',
  scopes: [],
  email_addresses: ['frank@mail.example'],
  email_domains: ['example.com', 'xn--bcher-kva.example'],
});

function isAdmitted(email: string): boolean {
  const user: Identity = {
    kind: 'user',
    id: 'au_1',
    email,
    isEmailVerified: true,
    name: '',
    claims: {},
    droppedClaims: [],
  };
  return admits?.(user) === null;
}

const EMAILS: readonly (readonly [email: string, isAdmitted: boolean])[] = [
  ['frank@mail.example', true],
  ['Frank@Mail.Example', true],
  ['ana@EXAMPLE.com', true],
  ['ana@bücher.example', true],
  // The Kelvin sign, which becomes "k" in lower case: the mailbox of somebody else.
  ['fran\u212a@mail.example', false],
  ['eve@evil.example,ana@example.com', false],
  ['<eve@evil.example> ana@example.com', false],
  ['example.com', false],
  ['ana@sub.example.com', false],
  ['', false],
];
for (const [email, expected] of EMAILS) {
  test(`the address ${JSON.stringify(email)} is ${expected ? '' : 'not '}admitted`, () => {
    assert.equal(isAdmitted(email), expected);
  });
}

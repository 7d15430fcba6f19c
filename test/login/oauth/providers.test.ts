import assert from 'node:assert/strict';
import { after, beforeEach, suite, test } from 'node:test';
import { PROVIDER_NAMES, type ProviderName } from '../../../src/modules/oauth/provider-definition.ts';
import type { EdgeAnswer } from '../../support/edge-world.ts';
import { shareOfCases } from '../../support/share-of-cases.ts';
import { seenIn } from '../flow/steps.ts';
import { person } from './fake-providers.ts';
import { OauthWorld } from './oauth-world.ts';

const world = await OauthWorld.open({ after });
beforeEach(() => {
  world.fakes.person = person({
    organizations: ['other', 'Acme', 'third', 'fourth', 'fifth'],
    teams: ['other/a', 'other/b', 'other/c', 'Acme/ops', 'other/d'],
  });
});

/** Providers that say nothing of the verification: the address is that of the account. */
const UNSTATED: readonly ProviderName[] = ['amazon', 'facebook'];

type Case = readonly [string, object, 200 | 403];

const EMAIL_CASES: readonly Case[] = [
  ['no rule', {}, 200],
  ['the address', { email_addresses: ['bo@example.com', 'ana@example.com'] }, 200],
  ['another address', { email_addresses: ['bo@example.com'] }, 403],
  ['the domain', { email_domains: ['example.com'] }, 200],
  ['a parent domain', { email_domains: ['com.example', 'ple.com'] }, 403],
  ['either list', { email_addresses: ['bo@example.com'], email_domains: ['example.com'] }, 200],
];

const GITHUB_CASES: readonly Case[] = [
  ['the organization, on a later page', { organizations: ['acme'] }, 200],
  ['another organization', { organizations: ['acme-corp'] }, 403],
  ['the team by name, on a later page', { teams: ['ACME/ops'] }, 200],
  ['the team by id', { teams: ['7003'] }, 200],
  ['a team of the same name elsewhere', { teams: ['others/ops'] }, 403],
  ['any of several lists', { teams: ['acme/none'], organizations: ['none'], email_domains: ['example.com'] }, 200],
];

for (const [subject, provider] of PROVIDER_NAMES.entries()) {
  suite(provider, () => {
    // The rules of e-mail addresses are the same code for every provider.
    const shared = shareOfCases(EMAIL_CASES, subject, 3);
    const cases = provider === 'github' ? [...shared, ...GITHUB_CASES] : shared;

    test('each rule admits who matches, and nobody else', async () => {
      const site = await world.site(provider);
      for (const [name, rules, status] of cases) {
        const browser = world.login.browser();
        await world.put(site, provider, rules);
        const page = await world.logIn(browser, site.host, '/there?x=1');
        assertAnswer(page, status, name);
      }
    });

    test('a change of the rules applies to the logins that exist', async () => {
      const site = await world.site(provider, { email_domains: ['example.com'] });
      const browser = world.login.browser();
      assertAnswer(await world.logIn(browser, site.host), 200, 'before');
      await world.put(site, provider, { email_domains: ['example.org'] });
      assertAnswer(await browser.open(site.host), 403, 'after');
    });

    test('an unverified address matches no rule, and is not sent upstream', async () => {
      world.fakes.person.isEmailVerified = false;
      const site = await world.site(provider);
      const browser = world.login.browser();
      const { headers } = seenIn(await world.logIn(browser, site.host));
      assert.equal(headers['postern-auth-user-email'], undefined);
      await world.put(site, provider, { email_domains: ['example.com'] });
      assertAnswer(await browser.open(site.host), UNSTATED.includes(provider) ? 200 : 403, 'with a rule');
    });

    test('the upstream and the API learn who it is', async () => {
      const site = await world.site(provider);
      const { headers, url } = seenIn(await world.logIn(world.login.browser(), site.host, '/there?x=1'));
      assert.equal(url, '/there?x=1');
      assert.equal(headers['postern-auth-kind'], 'user');
      assert.equal(headers['postern-auth-user-name'], 'Ana Example');
      const isShown = !UNSTATED.includes(provider);
      assert.equal(headers['postern-auth-user-email'], isShown ? 'Ana@Example.com' : undefined);
      const users = await world.login.edge.api('GET', '/app/users');
      const user = users.application_users.find(
        (each: { readonly id: string }) => each.id === headers['postern-auth-user-id'],
      );
      assert.equal(user.identity_provider.name, provider);
      assert.equal(user.email, 'Ana@Example.com');
    });

    test('a code is redeemed once, and an invented one shows a page', async () => {
      const site = await world.site(provider);
      const browser = world.login.browser();
      const { url } = await browser.upToProvider(site.host);
      const back = world.fakes.confirm(url as URL);
      back.searchParams.set('code', 'invented');
      const page = (await browser.upToProvider(site.host, `${back.pathname}${back.search}`)).page;
      assert.ok(page.status === 302 || page.status === 502, String(page.status));
      assert.notEqual((await browser.open(site.host)).status, 200);
    });
  });
}

function assertAnswer(answer: EdgeAnswer, status: number, name: string): void {
  assert.equal(answer.status, status, `${name}: ${answer.status} ${answer.text.slice(0, 300)}`);
  if (status !== 403) return;
  assert.equal(answer.headers['postern-error-code'], 'ERR_POSTERN_OAUTH_DENIED', name);
  assert.match(answer.text, /logged in as Ana/, name);
  assert.match(answer.text, /href="\/\.postern\/logout"/, name);
}

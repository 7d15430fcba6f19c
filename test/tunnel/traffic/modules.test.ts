import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import type { AgentOptions } from '../../../src/tunnel/agent/index.ts';
import { issue } from '../../edge/tls/test-authority.ts';
import * as fake from '../../login/oauth/fake-providers.ts';
import { CLIENT_ID, CLIENT_SECRET, LoginWorld } from '../../support/login-world.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';

const login = await LoginWorld.open({ after });
const fakes = await fake.FakeProviders.open({ after });
const world = await TunnelWorld.open(
  { after },
  {
    POSTERN_AGENT_ISSUER_ALLOW_CIDRS: '127.0.0.0/8',
    POSTERN_OAUTH_ENDPOINTS: JSON.stringify(fakes.endpoints),
  },
);
const here = login.servedBy(world.edge);

/** An endpoint with these modules, for a service that echoes its requests. */
async function published(modules: AgentOptions['tunnels'][number]['modules']): Promise<string> {
  const agent = await world.agent([{ proto: 'https', addr: login.upstreamAddress, modules }]);
  return new URL(agent.publicUrl ?? '').hostname;
}

suite('modules requested by an agent', () => {
  test('oidc: a real login, and the identity at the service', async () => {
    const host = await published({
      oidc: {
        issuer: login.provider.issuer,
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        scopes: ['email', 'profile'],
      },
    });
    here.register(host);
    assert.equal((await world.edge.ask(host)).status, 401);
    const page = await here.browser().logIn(host, '/private?x=1');
    assert.equal(page.status, 200);
    const seen = JSON.parse(page.text);
    assert.equal(seen.url, '/private?x=1');
    assert.match(String(seen.headers['postern-auth-user-email']), /alice/);
    assert.equal(seen.headers.cookie, undefined);
  });

  test('access: only whom the rules let in, and neither tokens nor issuers that an agent may not have', async () => {
    const oidc = {
      issuer: login.provider.issuer,
      client_id: CLIENT_ID,
      client_secret: CLIENT_SECRET,
      scopes: ['email', 'profile'],
    };
    const host = await published({
      oidc,
      access: { allow_emails: ['Alice@example.com'], allow_claims: ['groups=none'] },
    });
    here.register(host);
    assert.equal((await here.browser().logIn(host, '/', 'alice')).status, 200);
    const refused = await here.browser().logIn(host, '/', 'bob');
    assert.equal(refused.headers['postern-error-code'], 'ERR_POSTERN_ACCESS_DENIED');
    const bearer = { bearer_audiences: ['postern'], bearer_claims: ['repository=acme/app'] };
    const problems: readonly (readonly [object, RegExp])[] = [
      [{ allow_emails: ['alice'] }, /^access: allow.*must be one email address/],
      [{ allow_claims: ['groups'] }, /^access: "groups" is no claim: write NAME=VALUE/],
      [
        { allow_claims: ['Email=a@example.com'] },
        /^access: allow_claims has "Email".*use allow_emails \(--allow-email\)/,
      ],
      [{ deny_claims: ['email=a@example.com'] }, /^access: deny_claims has "email".*use deny_emails/],
      [{ ...bearer, bearer_claims: ['user.email=a@example.com'] }, /^access: bearer_claims has.*such as sub/],
      [{ allow_emails: ['a@example.com'], forward_bearer: true }, /^access: forward_bearer is not a known field/],
      [{ ...bearer, bearer_issuer: 'http://10.0.0.1' }, /^access: bearer.*issuer must/],
      [{ ...bearer, bearer_issuer: 'https://10.0.0.1' }, /^access: bearer.*must have a public address/],
      [{ bearer_issuer: 'https://ci.example.com' }, /^access: bearer_issuer, bearer_audiences and bearer_claims/],
    ];
    const tunnels = problems.map(([access]) => ({
      proto: 'https' as const,
      addr: login.upstreamAddress,
      modules: { access },
    }));
    const good = { proto: 'https' as const, addr: login.upstreamAddress };
    const agent = await world.agent([...tunnels, good] as AgentOptions['tunnels']);
    for (const [at, [, message]] of problems.entries()) assert.match(agent.tunnels[at]?.problem ?? '', message);
  });

  test('oauth and access: a login at a provider, and the rules of both decide', async () => {
    const oauth = { provider: 'github', client_id: fake.CLIENT_ID, client_secret: fake.CLIENT_SECRET };
    const host = await published({
      oauth: { ...oauth, organizations: ['acme'] },
      access: { allow_email_domains: ['example.com'], deny_emails: ['former@example.com'] },
    });
    const visit = async (who: object) => {
      fakes.person = fake.person(who);
      const browser = here.browser();
      const { url } = await browser.upToProvider(host, '/private?x=1');
      const back = fakes.confirm(url as URL);
      return (await browser.upToProvider(host, `${back.pathname}${back.search}`)).page;
    };
    assert.equal((await world.edge.ask(host)).status, 401);
    const page = await visit({ organizations: ['Acme'] });
    assert.equal(page.status, 200, page.text);
    const seen = JSON.parse(page.text);
    assert.deepEqual(
      [seen.url, seen.headers['postern-auth-kind'], seen.headers['postern-auth-user-email'], seen.headers.cookie],
      ['/private?x=1', 'user', 'Ana@Example.com', undefined],
    );
    const refused = await visit({ organizations: ['Acme'], email: 'former@example.com' });
    assert.equal(refused.headers['postern-error-code'], 'ERR_POSTERN_ACCESS_DENIED');
    const outside = await visit({ organizations: ['other'] });
    assert.equal(outside.headers['postern-error-code'], 'ERR_POSTERN_OAUTH_DENIED');
  });

  test('ip_restriction: by the address of the client, not of the agent', async () => {
    assert.equal(
      await world.edge.status(await published({ ip_restriction: { allow: ['127.0.0.0/8'], deny: [] } })),
      200,
    );
    assert.equal(
      await world.edge.status(await published({ ip_restriction: { allow: ['192.0.2.0/24'], deny: [] } })),
      403,
    );
  });

  test('mutual_tls: nobody without a certificate, and with one its name', async () => {
    const authority = await issue({ commonName: 'staff', isCa: true });
    const { certificatePem: cert, keyPem: key } = await issue({
      commonName: 'alice',
      issuer: authority,
      usages: ['client'],
    });
    const host = await published({ mutual_tls: { ca_pems: [authority.certificatePem] } });
    await assert.rejects(world.edge.ask(host));
    const answer = await world.edge.ask(host, '/', { cert, key });
    assert.equal(answer.status, 200);
    assert.equal(JSON.parse(answer.text).headers['postern-mtls-subject-cn'], 'alice');
  });

  test('compression', async () => {
    const host = await published({ compression: {} });
    const padding = 'x'.repeat(3000);
    const headers = { 'accept-encoding': 'gzip', 'x-padding': padding };
    const answer = await world.edge.ask(host, '/', { headers });
    assert.equal(answer.headers['content-encoding'], 'gzip');
    assert.ok(answer.body.length < padding.length);
    const plain = await world.edge.ask(await published({}), '/', { headers });
    assert.equal(plain.headers['content-encoding'], undefined);
  });

  test('rejects impossible combinations with a message, and ends nothing else', async () => {
    const agent = await world.agent([
      { proto: 'https', addr: login.upstreamAddress, modules: { ip_restriction: { allow: ['all'], deny: [] } } },
      { proto: 'https', addr: login.upstreamAddress },
    ]);
    assert.equal(agent.tunnels[0]?.status, 'refused');
    assert.match(agent.tunnels[0]?.problem ?? '', /^ip_restriction: "all"/);
    assert.equal(await world.edge.status(new URL(agent.tunnels[1]?.publicUrl ?? '').hostname), 200);
  });
});

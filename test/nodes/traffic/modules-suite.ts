import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { issue } from '../../edge/tls/test-authority.ts';
import type { RecordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import type { ClusterNode } from '../../support/cluster/cluster-node.ts';
import type { Cluster } from '../../support/cluster.ts';
import { CookieJar } from '../../support/cookie-jar.ts';
import { IdentityProvider } from '../../support/identity-provider.ts';
import { Browser, type BrowserWorld, CLIENT_ID, CLIENT_SECRET } from '../../support/login-world.ts';

type Modules = NonNullable<Parameters<Cluster['agent']>[0][number]['modules']>;

/** Modules that an agent requested run on the node that has the client. */
export function modulesSuite(cluster: Cluster, upstream: RecordingUpstream): void {
  const { first } = cluster;
  const [second, third] = [cluster.node(1), cluster.node(2)];

  async function published(modules: Modules): Promise<string> {
    const agent = await cluster.agent([{ proto: 'https', addr: upstream.address, modules }], {
      at: [first],
      connections: 1,
    });
    await cluster.visible(agent);
    return new URL(agent.publicUrl ?? '').hostname;
  }

  suite("modules of another node's endpoint", () => {
    test('oidc: the login begins on one node, and is valid on every other', async () => {
      const provider = await IdentityProvider.open({ after });
      const oidc = { issuer: provider.issuer, client_id: CLIENT_ID, client_secret: CLIENT_SECRET, scopes: ['email'] };
      const host = await published({ oidc });
      const origin = (name: string): string => `https://${name}:${second.port}`;
      provider.setClients([
        {
          client_id: CLIENT_ID,
          client_secret: CLIENT_SECRET,
          grant_types: ['authorization_code'],
          redirect_uris: [`${origin(host)}/.postern/callback`],
        },
      ]);
      const worldAt = (edge: ClusterNode): BrowserWorld => ({ edge, provider, origin });
      assert.equal((await third.ask(host)).status, 401);
      const browser = new Browser(worldAt(second), new CookieJar());
      const page = await browser.logIn(host, '/private');
      assert.equal(page.status, 200);
      assert.match(String(JSON.parse(page.text).headers['postern-auth-user-email']), /alice/);
      for (const node of [third, first]) {
        assert.equal((await browser.at(worldAt(node)).open(host, '/private')).status, 200, node.name);
      }
      // The login starts on one node, and the provider sends the browser back to another.
      const wandering = new Browser(worldAt(third), new CookieJar());
      const { url } = await wandering.upToProvider(host, '/again');
      assert.notEqual(url, null);
    });

    test('ip_restriction: by the address of the client, not of the peer', async () => {
      const open = await published({ ip_restriction: { allow: ['127.0.0.1/32'], deny: [] } });
      const closed = await published({ ip_restriction: { allow: ['192.0.2.0/24'], deny: [] } });
      for (const node of [second, third]) {
        assert.deepEqual([await node.status(open), await node.status(closed)], [200, 403], node.name);
      }
    });

    test('mutual_tls: nobody without a certificate, and with one its name', async () => {
      const authority = await issue({ commonName: 'staff', isCa: true });
      const { certificatePem: cert, keyPem: key } = await issue({
        commonName: 'alice',
        issuer: authority,
        usages: ['client'],
      });
      const host = await published({ mutual_tls: { ca_pems: [authority.certificatePem] } });
      for (const node of [second, third]) {
        await assert.rejects(node.ask(host));
        const answer = await node.ask(host, '/', { cert, key });
        assert.equal(JSON.parse(answer.text).headers['postern-mtls-subject-cn'], 'alice');
      }
    });

    test('compression', async () => {
      const host = await published({ compression: {} });
      for (const node of [second, third]) {
        const answer = await node.ask(host, '/', {
          headers: { 'accept-encoding': 'gzip', 'x-padding': 'x'.repeat(3000) },
        });
        assert.equal(answer.headers['content-encoding'], 'gzip', node.name);
      }
    });
  });
}

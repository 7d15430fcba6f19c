import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { JsonObject } from '../../../kit/json.ts';
import { AcmeServer } from './acme-server.ts';

const SIGNAL = new AbortController().signal;

/** A server that serves one directory, and notes what it was asked for. */
function serverWith(directoryUrl: string, directory: JsonObject, furtherOrigins: readonly string[] = []) {
  const asked: string[] = [];
  const fetch = async (url: string | URL): Promise<Response> => {
    asked.push(String(url));
    return Response.json(directory);
  };
  const clock = { nowMs: () => 0 };
  const server = new AcmeServer({ directoryUrl, furtherOrigins, fetch: fetch as never, clock, closing: SIGNAL });
  return { server, asked };
}

const at = (base: string, names = ['newNonce', 'newAccount', 'newOrder', 'keyChange', 'renewalInfo']): JsonObject =>
  Object.fromEntries(names.map((name) => [name, `${base}/${name}`]));

suite('an ACME directory', () => {
  const OWN = 'https://ca.example';

  for (const name of ['newNonce', 'newAccount', 'newOrder']) {
    for (const origin of ['https://other.example', 'https://ca.example:8443', 'https://169.254.169.254']) {
      test(`with ${name} at ${origin} is refused, with the setting that allows it`, async () => {
        const directory = { ...at(OWN), [name]: `${origin}/x` };
        const { server } = serverWith(`${OWN}/directory`, directory);
        await assert.rejects(server.directory(), (error: Error) => {
          assert.ok(error.message.includes(`add ${origin} to acme_origins`), error.message);
          return true;
        });
        const allowed = serverWith(`${OWN}/directory`, directory, [origin]);
        assert.equal((await allowed.server.directory())[name as 'newOrder'], `${origin}/x`);
      });
    }
  }

  test('with optional resources elsewhere is used without them', async () => {
    const directory = { ...at(OWN), ...at('https://other.example', ['keyChange', 'renewalInfo']) };
    const { keyChange, renewalInfo } = await serverWith(`${OWN}/directory`, directory).server.directory();
    assert.deepEqual([keyChange, renewalInfo], [null, null]);
  });

  test('leads to no request elsewhere: orders, authorizations, challenges and certificates', async () => {
    const { server, asked } = serverWith(`${OWN}/directory`, at(OWN));
    await assert.rejects(server.get('https://other.example/order/1', 'did not return it', SIGNAL), /acme_origins/);
    await assert.rejects(server.get('https://ca.example:444/order/1', 'did not return it', SIGNAL), /acme_origins/);
    assert.deepEqual(asked, []);
    await server.get(`${OWN}/order/1`, 'did not return it', SIGNAL);
    assert.deepEqual(asked, [`${OWN}/order/1`]);
  });
});

suite('known ACME servers work without the setting', () => {
  const KNOWN: Readonly<Record<string, JsonObject>> = {
    'https://acme-v02.api.letsencrypt.org/directory': at('https://acme-v02.api.letsencrypt.org/acme'),
    'https://acme-staging-v02.api.letsencrypt.org/directory': at('https://acme-staging-v02.api.letsencrypt.org/acme'),
    'https://dv.acme-v02.api.pki.goog/directory': at('https://dv.acme-v02.api.pki.goog'),
    'https://acme.zerossl.com/v2/DV90': {
      ...at('https://acme.zerossl.com/v2/DV90'),
      renewalInfo: 'https://ari.trust-provider.com/renewalInfo',
    },
    'https://localhost:14000/dir': at('https://localhost:14000'),
  };
  for (const [url, directory] of Object.entries(KNOWN)) {
    test(url, async () => {
      const { newOrder } = await serverWith(url, directory).server.directory();
      assert.equal(newOrder, directory['newOrder']);
    });
  }
});

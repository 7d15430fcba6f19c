import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { openTestZone, ref, SECRETS } from '../../../../../test/support/dns/challenge-records.ts';
import {
  type StandIn,
  type StandInAnswer,
  type StandInRequest,
  startStandIn,
} from '../../../../../test/support/dns/stand-in.ts';

const SUBDOMAIN = '8e5700ea-a4bf-41c7-8a77-e990661dcc6a';
const ZONE = `${SUBDOMAIN}.auth.example.org`;
const never = new AbortController().signal;
const value = (letter: string): string => letter.repeat(43);

/** After the README of https://github.com/joohoi/acme-dns: not the real server. */
async function acmednsApi(context: TestContext): Promise<StandIn & { readonly values: string[] }> {
  const values: string[] = [];
  const answer = ({ method, url, headers, body }: StandInRequest): StandInAnswer => {
    if (method === 'GET' && url.pathname === '/health') return { status: 200 };
    if (method !== 'POST' || url.pathname !== '/update') return { status: 404 };
    if (headers['x-api-user'] !== SECRETS.USERNAME || headers['x-api-key'] !== SECRETS.PASSWORD)
      return { status: 401, body: { error: 'forbidden' } };
    const { subdomain, txt } = JSON.parse(body) as { subdomain: string; txt: string };
    if (subdomain !== SUBDOMAIN) return { status: 400, body: { error: 'bad_subdomain' } };
    if (!/^[\w-]{43}$/.test(txt)) return { status: 400, body: { error: 'bad_txt' } };
    values.push(txt);
    if (values.length > 2) values.shift();
    return { status: 200, body: { txt } };
  };
  return { ...(await startStandIn(context, answer)), values };
}

const open = (api: StandIn, more: Readonly<Record<string, string>> = {}) =>
  openTestZone(
    'acmedns',
    { url: api.url, username: ref('USERNAME'), password: ref('PASSWORD'), ...more },
    { zone: ZONE },
  );

suite('records at a stand-in of acme-dns', () => {
  test('are the two latest values: the same one again does not replace the other', async (context) => {
    const api = await acmednsApi(context);
    const zone = await open(api);
    for (const letter of ['a', 'b', 'b', 'a']) await zone.add({ name: ZONE, value: value(letter) }, never);
    assert.deepEqual(api.values, [value('a'), value('b')]);
    await zone.remove({ name: ZONE, value: value('a') }, never);
    await zone.add({ name: ZONE, value: value('c') }, never);
    assert.deepEqual(api.values, [value('b'), value('c')]);
  });

  test('fail with the reason and what to do', async (context) => {
    const api = await acmednsApi(context);
    const wrong = await open(api, { password: ref('TOKEN') });
    await assert.rejects(
      wrong.add({ name: ZONE, value: value('a') }, never),
      /\(status 401\): forbidden\. Check username/,
    );
    const other = await open(api, { subdomain: 'other' });
    await assert.rejects(other.add({ name: ZONE, value: value('a') }, never), /bad_subdomain/);
    const zone = await open(api);
    await assert.rejects(
      zone.add({ name: `_acme-challenge.${ZONE}`, value: value('a') }, never),
      /serves .* only, and not/,
    );
    assert.match(await zone.check(never), /the server answers; the credentials are tried with the first order/);
  });
});

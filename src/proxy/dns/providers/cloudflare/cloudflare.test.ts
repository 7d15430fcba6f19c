import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { openTestZone, ref, SECRETS } from '../../../../../test/support/dns/challenge-records.ts';
import {
  type StandIn,
  type StandInAnswer,
  type StandInRequest,
  startStandIn,
} from '../../../../../test/support/dns/stand-in.ts';

const ZONE = '023e105f4ecef8ad9ca31a8372d0c353';
const NAME = '_acme-challenge.example.com';
const never = new AbortController().signal;

interface Stored {
  readonly id: string;
  readonly type: string;
  readonly name: string;
  readonly content: string;
}

const failed = (status: number, code: number, message: string): StandInAnswer => ({
  status,
  body: { success: false, errors: [{ code, message }], messages: [], result: null },
});
const succeeded = (result: unknown): StandInAnswer => ({
  status: 200,
  body: { success: true, errors: [], messages: [], result },
});

/** After https://developers.cloudflare.com/api/resources/dns/subresources/records: not the real service. */
async function cloudflareApi(
  test: TestContext,
  records: Stored[] = [],
): Promise<StandIn & { readonly records: Stored[] }> {
  let count = 0;
  const answer = ({ method, url, headers, body }: StandInRequest): StandInAnswer => {
    if (headers.authorization !== `Bearer ${SECRETS.TOKEN}`)
      return failed(403, 9109, `Invalid access token ${headers.authorization}`);
    if (method === 'GET' && url.pathname === '/zones') {
      return succeeded(url.searchParams.get('name') === 'example.com' ? [{ id: ZONE, name: 'example.com' }] : []);
    }
    const path = /^\/zones\/([0-9a-f]{32})\/dns_records(?:\/(\w+))?$/.exec(url.pathname);
    if (path?.[1] !== ZONE) return failed(404, 7003, 'Could not route to the zone');
    if (method === 'GET') {
      const [name, type] = [url.searchParams.get('name'), url.searchParams.get('type')];
      return succeeded(records.filter((record) => record.name === name && record.type === type));
    }
    if (method === 'DELETE') {
      const index = records.findIndex(({ id }) => id === path[2]);
      if (index === -1) return failed(404, 81_044, 'Record does not exist.');
      return succeeded({ id: records.splice(index, 1)[0]?.id });
    }
    if (method !== 'POST' || headers['content-type'] !== 'application/json')
      return failed(400, 6003, 'Invalid request');
    const { type, name, content, ttl } = JSON.parse(body) as Stored & { ttl: number };
    if (type !== 'TXT' || ttl < 60 || !name.endsWith('example.com')) return failed(400, 9005, 'Content is invalid');
    if (records.some((record) => record.name === name && record.content === content))
      return failed(400, 81_058, 'An identical record already exists.');
    count += 1;
    records.push({ id: `r${count}`, type, name, content });
    return succeeded(records.at(-1));
  };
  return { ...(await startStandIn(test, answer)), records };
}

const open = (api: StandIn, more: Readonly<Record<string, string>> = {}, zone = 'example.com') =>
  openTestZone('cloudflare', { token: ref('TOKEN'), url: api.url, ...more }, { zone });

suite('records at a stand-in of Cloudflare', () => {
  test('are added beside others, once, and removed one by one', async (context) => {
    const api = await cloudflareApi(context, [{ id: 'old', type: 'TXT', name: NAME, content: 'without-quotes' }]);
    const zone = await open(api);
    for (const value of ['one', 'two', 'one']) await zone.add({ name: NAME, value }, never);
    assert.deepEqual(
      api.records.map(({ content }) => content),
      ['without-quotes', '"one"', '"two"'],
    );
    await zone.remove({ name: NAME, value: 'one' }, never);
    await zone.remove({ name: NAME, value: 'one' }, never);
    await zone.remove({ name: NAME, value: 'without-quotes' }, never);
    assert.deepEqual(
      api.records.map(({ content }) => content),
      ['"two"'],
    );
  });

  test('need no lookup of the zone if its id is given', async (context) => {
    const api = await cloudflareApi(context);
    await (await open(api, { zone_id: ZONE })).add({ name: NAME, value: 'one' }, never);
    assert.deepEqual(
      api.requests.map(({ url }) => url.pathname),
      [`/zones/${ZONE}/dns_records`],
    );
  });

  test('wait as long as the API asks, and give up if that is too long', async (context) => {
    const api = await cloudflareApi(context);
    const waits: number[] = [];
    const options = { token: ref('TOKEN'), url: api.url, zone_id: ZONE };
    const zone = await openTestZone('cloudflare', options, { waits });
    api.first.push({ status: 429, headers: { 'retry-after': '7' } }, { status: 503 });
    await zone.add({ name: NAME, value: 'one' }, never);
    assert.equal(api.records.length, 1);
    assert.ok(waits.length === 2 && (waits[0] as number) > 6_000 && waits[1] === 2_000, String(waits));
    api.first.push({ status: 429, headers: { 'retry-after': '3600' } });
    await assert.rejects(
      zone.add({ name: NAME, value: 'two' }, never),
      /limits requests \(status 429\): the next attempt/,
    );
  });

  test('fail with the reason and what to do, and without the token', async (context) => {
    const api = await cloudflareApi(context);
    const wrong = await open(api, { token: ref('PASSWORD') });
    await assert.rejects(wrong.add({ name: NAME, value: 'one' }, never), (error: Error) => {
      assert.match(
        error.message,
        /^Cloudflare: cannot look up the zone .*Invalid access token Bearer \*{8} \(9109\)\. Check the token/,
      );
      return true;
    });
    await assert.rejects((await open(api, {}, 'example.org')).check(never), /shows no zone example\.org to the token/);
    api.first.push({ status: 200, body: '<html>' });
    await assert.rejects((await open(api)).check(never), /the answer is not JSON/);
    assert.equal(await (await open(api)).check(never), 'the token can read the records of the zone');
  });
});

import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { openTestZone, ref, SECRETS } from '../../../../../test/support/dns/challenge-records.ts';
import {
  type StandIn,
  type StandInAnswer,
  type StandInRequest,
  startStandIn,
} from '../../../../../test/support/dns/stand-in.ts';

const NAME = '_acme-challenge.example.com';
const never = new AbortController().signal;

interface Api extends StandIn {
  /** Values of the set; null: it does not exist. */
  values: string[] | null;
  ttl: number | null;
  /** How often an action is still running. */
  running: number;
}

const failed = (status: number, code: string, message: string): StandInAnswer => ({
  status,
  body: { error: { code, message } },
});

/** After https://docs.hetzner.cloud/reference/cloud#zone-rrset-actions: not the real service. */
async function hetznerApi(context: TestContext): Promise<Api> {
  const state = { values: null as string[] | null, ttl: null as number | null, running: 0 };
  const action = (status: string) => ({ action: { id: 4711, status, error: null } });
  const answer = ({ method, url, headers, body }: StandInRequest): StandInAnswer => {
    if (headers.authorization !== `Bearer ${SECRETS.TOKEN}`)
      return failed(401, 'unauthorized', 'unable to authenticate');
    if (url.pathname === '/actions/4711') {
      state.running -= 1;
      return { status: 200, body: action(state.running > 0 ? 'running' : 'success') };
    }
    const [, , zone, sets, name, type, , verb] = url.pathname.split('/');
    if (zone !== 'example.com') return failed(404, 'not_found', 'zone not found');
    if (sets === undefined) return { status: 200, body: { zone: { id: 1, name: zone } } };
    if (sets !== 'rrsets' || name !== '_acme-challenge' || type !== 'TXT')
      return failed(404, 'not_found', 'rrset not found');
    if (method === 'GET') {
      if (state.values === null) return failed(404, 'not_found', 'rrset not found');
      const records = state.values.map((value) => ({ value, comment: '' }));
      return { status: 200, body: { rrset: { id: '_acme-challenge/TXT', name, type, ttl: state.ttl, records } } };
    }
    const { ttl, records } = JSON.parse(body) as { ttl?: number; records: { value: string }[] };
    const values = records.map(({ value }) => value);
    if (!values.every((value) => /^"[^"]{1,255}"$/.test(value)))
      return failed(422, 'invalid_input', 'TXT values must be quoted');
    if (verb === 'add_records') {
      if (state.values !== null && ttl !== undefined && ttl !== state.ttl)
        return failed(422, 'invalid_input', 'ttl differs');
      if (values.some((value) => state.values?.includes(value)))
        return failed(409, 'uniqueness_error', 'record exists');
      state.ttl ??= ttl ?? null;
      state.values = [...(state.values ?? []), ...values];
    } else if (verb === 'remove_records') {
      if (!values.every((value) => state.values?.includes(value)))
        return failed(422, 'invalid_input', 'no such record');
      state.values = (state.values ?? []).filter((value) => !values.includes(value));
      if (state.values.length === 0) state.values = null;
    } else return failed(404, 'not_found', 'no such action');
    return { status: 201, body: action(state.running > 0 ? 'running' : 'success') };
  };
  return Object.assign(state, await startStandIn(context, answer));
}

const open = (api: StandIn, token = ref('TOKEN'), zone = 'example.com') =>
  openTestZone('hetzner', { token, url: api.url }, { zone });

suite('records at a stand-in of the Hetzner Cloud API', () => {
  test('are added beside others, once, and removed one by one', async (context) => {
    const api = await hetznerApi(context);
    api.running = 2;
    const zone = await open(api);
    for (const value of ['one', 'two', 'one']) await zone.add({ name: NAME, value }, never);
    assert.deepEqual(api.values, ['"one"', '"two"']);
    await zone.remove({ name: NAME, value: 'one' }, never);
    await zone.remove({ name: NAME, value: 'one' }, never);
    assert.deepEqual(api.values, ['"two"']);
    await zone.remove({ name: NAME, value: 'two' }, never);
    assert.equal(api.values, null);
    await zone.remove({ name: NAME, value: 'two' }, never);
  });

  test('keep the time to live of a set that exists', async (context) => {
    const api = await hetznerApi(context);
    Object.assign(api, { values: ['"other"'], ttl: 3600 });
    const zone = await open(api);
    await zone.add({ name: NAME, value: 'one' }, never);
    const bodies = api.requests.filter(({ method }) => method === 'POST').map(({ body }) => body);
    assert.deepEqual(bodies, ['{"records":[{"value":"\\"one\\""}]}']);
  });

  test('fail with the reason and what to do', async (context) => {
    const api = await hetznerApi(context);
    await assert.rejects(
      (await open(api, ref('PASSWORD'))).check(never),
      /unable to authenticate.*not of the old DNS Console/,
    );
    await assert.rejects(
      (await open(api, ref('TOKEN'), 'example.org')).check(never),
      /zone not found.*Check the name of the zone/,
    );
    assert.equal(await (await open(api)).check(never), 'the token can read the zone');
  });

  test('wait while the zone is locked', async (context) => {
    const api = await hetznerApi(context);
    api.first.push(null, failed(423, 'locked', 'the zone is locked'));
    await (await open(api)).add({ name: NAME, value: 'one' }, never);
    assert.deepEqual(api.values, ['"one"']);
  });
});

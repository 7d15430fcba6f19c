import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { openTestZone, ref } from '../../../../../test/support/dns/challenge-records.ts';
import {
  type StandIn,
  type StandInAnswer,
  type StandInRequest,
  startStandIn,
} from '../../../../../test/support/dns/stand-in.ts';

const NAME = '_acme-challenge.example.com';
const never = new AbortController().signal;

interface Api extends StandIn {
  /** Values of the set, in quotation marks; null: it does not exist. */
  values: readonly string[] | null;
  ttl: string;
  /** Called between the reading of the set and its change. */
  meanwhile: (() => void) | null;
}

const failed = (status: number, code: string, message: string): StandInAnswer => ({
  status,
  body: `<?xml version="1.0"?><ErrorResponse xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`,
});
const xml = (body: string): StandInAnswer => ({ status: 200, body: `<?xml version="1.0"?>\n${body}` });

/**
 * After https://docs.aws.amazon.com/Route53/latest/APIReference: not the real service. A batch is applied as a whole or
 * not at all.
 */
async function route53Api(context: TestContext): Promise<Api> {
  const state = { values: null as readonly string[] | null, ttl: '60', meanwhile: null as (() => void) | null };
  const changed = (body: string): StandInAnswer => {
    state.meanwhile?.();
    state.meanwhile = null;
    let { values } = state;
    for (const [, action, ttl, records] of body.matchAll(
      /<Change><Action>(\w+)<\/Action><ResourceRecordSet><Name>_acme-challenge\.example\.com\.<\/Name><Type>TXT<\/Type><TTL>(\d+)<\/TTL><ResourceRecords>(.+?)<\/ResourceRecords><\/ResourceRecordSet><\/Change>/g,
    )) {
      const given = Array.from(
        (records ?? '').matchAll(/<Value>&quot;(.+?)&quot;<\/Value>/g),
        ([, value]) => `"${value}"`,
      );
      if (action === 'DELETE') {
        if (values === null || ttl !== state.ttl || [...given].sort().join() !== [...values].sort().join())
          return failed(
            400,
            'InvalidChangeBatch',
            'Tried to delete resource record set but the values provided do not match the current values',
          );
        values = null;
      } else if (action === 'CREATE') {
        if (values !== null)
          return failed(400, 'InvalidChangeBatch', 'Tried to create resource record set but it already exists');
        values = given;
      } else return failed(400, 'InvalidInput', 'unknown action');
    }
    state.values = values;
    return xml(
      '<ChangeResourceRecordSetsResponse><ChangeInfo><Id>/change/C1</Id><Status>PENDING</Status></ChangeInfo></ChangeResourceRecordSetsResponse>',
    );
  };
  const answer = ({ method, url, headers, body }: StandInRequest): StandInAnswer => {
    const scope = 'Credential=AKIDEXAMPLE/\\d{8}/us-east-1/route53/aws4_request';
    if (
      !new RegExp(
        `^AWS4-HMAC-SHA256 ${scope}, SignedHeaders=(content-type;)?host;x-amz-date, Signature=[0-9a-f]{64}$`,
      ).test(headers.authorization ?? '')
    )
      return failed(403, 'InvalidClientTokenId', 'The security token included in the request is invalid.');
    if (url.pathname === '/2013-04-01/hostedzonesbyname') {
      const zone = (id: string, name: string, isPrivate: boolean) =>
        `<HostedZone><Id>/hostedzone/${id}</Id><Name>${name}</Name><Config><PrivateZone>${isPrivate}</PrivateZone></Config></HostedZone>`;
      return xml(
        `<ListHostedZonesByNameResponse><HostedZones>${zone('ZPRIVATE', 'example.com.', true)}${zone('Z1PA6795UKMFR9', 'example.com.', false)}${zone('ZNEXT', 'example.net.', false)}</HostedZones></ListHostedZonesByNameResponse>`,
      );
    }
    if (url.pathname !== '/2013-04-01/hostedzone/Z1PA6795UKMFR9/rrset')
      return failed(404, 'NoSuchHostedZone', 'No hosted zone found');
    if (method === 'POST') return changed(body);
    if (url.searchParams.get('type') !== 'TXT' || url.searchParams.get('maxitems') !== '1')
      return failed(400, 'InvalidInput', 'parameters');
    // Without the set, the list goes on with the next name.
    const name = state.values === null ? 'a.example.com.' : `${NAME}.`;
    const values = (state.values ?? ['"other"']).map(
      (value) => `<ResourceRecord><Value>${value.replaceAll('"', '&quot;')}</Value></ResourceRecord>`,
    );
    return xml(
      `<ListResourceRecordSetsResponse><ResourceRecordSets><ResourceRecordSet><Name>${name}</Name><Type>TXT</Type><TTL>${state.ttl}</TTL><ResourceRecords>${values.join('')}</ResourceRecords></ResourceRecordSet></ResourceRecordSets></ListResourceRecordSetsResponse>`,
    );
  };
  return Object.assign(state, await startStandIn(context, answer));
}

const open = (api: StandIn, more: Readonly<Record<string, string>> = {}, zone = 'example.com') =>
  openTestZone(
    'route53',
    { access_key_id: ref('KEY_ID'), secret_access_key: ref('SECRET_KEY'), url: api.url, ...more },
    { zone },
  );

suite('records at a stand-in of Route 53', () => {
  test('are added to the set, once, and removed from it one by one', async (context) => {
    const api = await route53Api(context);
    const zone = await open(api);
    for (const value of ['one', 'two', 'one']) await zone.add({ name: NAME, value }, never);
    assert.deepEqual(api.values, ['"one"', '"two"']);
    await zone.remove({ name: NAME, value: 'one' }, never);
    await zone.remove({ name: NAME, value: 'one' }, never);
    assert.deepEqual(api.values, ['"two"']);
    await zone.remove({ name: NAME, value: 'two' }, never);
    assert.equal(api.values, null);
  });

  test('of two nodes that change the set at the same time are all kept', async (context) => {
    const api = await route53Api(context);
    const [one, two] = [await open(api), await open(api)];
    api.meanwhile = () => Object.assign(api, { values: ['"of another program"'], ttl: '300' });
    await one.add({ name: NAME, value: 'one' }, never);
    assert.deepEqual(api.values, ['"of another program"', '"one"']);
    const all = ['a', 'b', 'c', 'd'];
    await Promise.all(all.map((value, index) => (index % 2 === 0 ? one : two).add({ name: NAME, value }, never)));
    assert.deepEqual([...(api.values ?? [])].sort(), ['"a"', '"b"', '"c"', '"d"', '"of another program"', '"one"']);
    await Promise.all(all.map((value, index) => (index % 2 === 0 ? two : one).remove({ name: NAME, value }, never)));
    assert.deepEqual(api.values, ['"of another program"', '"one"']);
  });

  test('are repeated while Route 53 throttles', async (context) => {
    const api = await route53Api(context);
    api.first.push(
      failed(400, 'Throttling', 'Rate exceeded'),
      null,
      null,
      failed(400, 'PriorRequestNotComplete', 'busy'),
    );
    await (await open(api)).add({ name: NAME, value: 'one' }, never);
    assert.deepEqual(api.values, ['"one"']);
  });

  test('fail with the reason and what to do', async (context) => {
    const api = await route53Api(context);
    const wrong = await open(api, { access_key_id: ref('TOKEN') });
    await assert.rejects(
      wrong.check(never),
      /status 403 InvalidClientTokenId\): The security token .* the clock of this server, and that the policy allows/,
    );
    await assert.rejects((await open(api, {}, 'example.org')).check(never), /no public hosted zone example\.org/);
    await assert.rejects((await open(api, { hosted_zone_id: 'ZOTHER' })).check(never), /NoSuchHostedZone/);
    assert.equal(await (await open(api)).check(never), 'the access key can read the hosted zone');
  });
});

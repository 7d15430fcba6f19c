import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { TestWorld } from '../support/test-world.ts';

test('a webhook gets events in its format, and a file only JSON', async (t) => {
  const received: { path: string; type: string | undefined; body: string }[] = [];
  const receiver = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      received.push({ path: request.url ?? '', type: request.headers['content-type'], body });
      response.writeHead(204).end();
    });
  }).listen(0, '127.0.0.1');
  t.after(() => receiver.close());
  await once(receiver, 'listening');
  const { port } = receiver.address() as { port: number };
  const env = { POSTERN_ROLES: 'api,events', POSTERN_EVENTS_ALLOW_CIDRS: '127.0.0.0/8' };
  const world = await TestWorld.open(t, { env });
  for (const format of ['json', 'cloudevents', 'slack', 'discord', 'teams']) {
    const target = { webhook: { url: `http://127.0.0.1:${port}/${format}` } };
    const made = await world.api('POST', '/event_destinations', { format, target });
    assert.deepEqual([made.status, made.body.format], [201, format], made.text);
    const tested = await world.api('POST', `/event_destinations/${made.body.id}/test`);
    assert.equal(tested.body.is_delivered, true, tested.text);
  }
  const bodies = new Map(received.map(({ path, body }) => [path.slice(1), JSON.parse(body)]));
  assert.equal(bodies.get('json').event_type, 'event_destination_test.v0');
  assert.match(bodies.get('slack').blocks[0].text.text, /^event_destination_test\.v0\nid: ed_/);
  assert.match(bodies.get('discord').content, /^```\nevent_destination_test\.v0\n/);
  assert.equal(bodies.get('teams').attachments[0].content.type, 'AdaptiveCard');
  const { data, ...attributes } = bodies.get('cloudevents');
  assert.match(data.event_id, /^ev_/);
  assert.deepEqual(attributes, {
    specversion: '1.0',
    id: data.event_id,
    source: `urn:postern:${data.account_id}`,
    type: 'event_destination_test.v0',
    time: data.event_timestamp,
    subject: data.object.id,
    datacontenttype: 'application/json',
  });
  for (const { path, type } of received)
    assert.match(type ?? '', path === '/cloudevents' ? /^application\/cloudevents\+json/ : /^application\/json$/);
  const file = { file: { name: 'x' } };
  const refused = await world.api('POST', '/event_destinations', { format: 'slack', target: file });
  assert.deepEqual([refused.status, refused.body.details.field], [400, '/format'], refused.text);
  const [first] = (await world.api('GET', '/event_destinations')).body.event_destinations;
  assert.equal((await world.api('PATCH', `/event_destinations/${first.id}`, { format: 'xml' })).status, 400);
});

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { InspectorWorld, type Summary } from './inspector-world.ts';

async function replayed(world: InspectorWorld, order: object): Promise<Summary & Record<string, unknown>> {
  const { status, json, headers } = await world.change('POST', order);
  assert.equal(status, 202, JSON.stringify(json));
  const { id } = json as Summary;
  assert.equal(headers['location'], `/api/requests/http/${id}`);
  return world.finished(id);
}

test('a replay sends the same request again, including masked values, and is stored', async (context) => {
  const world = await InspectorWorld.open(context);
  const body = randomBytes(100_000);
  const headers = {
    authorization: 'Bearer abc',
    cookie: 'sid=1; b=2',
    'x-twice': ['1', '2'],
    'content-type': 'image/x',
  };
  await world.pass('/in?q=%2F', { method: 'PUT', headers, body });
  const original = await world.newest();
  const again = await replayed(world, { id: original.id });
  assert.equal(again.replay_of, original.id);
  assert.equal(again.status, 200);
  assert.equal(again.problem, null);
  const [first, second] = world.seen;
  assert.ok(first !== undefined && second !== undefined);
  assert.equal(second.method, 'PUT');
  assert.equal(second.url, '/in?q=%2F');
  assert.ok(second.body.equals(body));
  assert.deepEqual(second.headers, first.headers);
  assert.equal(second.headers.host, 'app.example.com');
  // A replay can be replayed.
  assert.equal((await replayed(world, { id: again.id })).status, 200);
  assert.ok(world.seen[2]?.body.equals(body));
});

test('an edited replay has the edits, and the rest unchanged', async (context) => {
  const world = await InspectorWorld.open(context);
  await world.pass('/in', { method: 'POST', headers: { authorization: 'Bearer abc', 'x-old': '1' }, body: 'before' });
  const { id } = await world.newest();
  const edit = {
    method: 'PATCH',
    path: '/out?x=1',
    headers: [
      { name: 'Authorization', value: 'Bearer ••••••••', masked: true },
      { name: 'X-New', value: 'grün'.normalize('NFC') },
    ],
    body: Buffer.from('after all').toString('base64'),
  };
  await replayed(world, { id, edit });
  const seen = world.seen[1];
  assert.equal(seen?.method, 'PATCH');
  assert.equal(seen?.url, '/out?x=1');
  assert.equal(seen?.body.toString(), 'after all');
  assert.equal(seen?.headers['content-length'], '9');
  assert.equal(seen?.headers.authorization, 'Bearer abc');
  assert.equal(Buffer.from(String(seen?.headers['x-new']), 'latin1').toString('latin1'), 'grün');
  assert.equal(seen?.headers['x-old'], undefined);
  // A single change.
  await replayed(world, { id, edit: { path: '/elsewhere' } });
  assert.equal(world.seen[2]?.url, '/elsewhere');
  assert.equal(world.seen[2]?.body.toString(), 'before');
  assert.equal(world.seen[2]?.headers['x-old'], '1');
  await replayed(world, { id, edit: { body: '' } });
  assert.equal(world.seen[3]?.body.length, 0);
  assert.equal(world.seen[3]?.headers['content-length'], '0');
});

test('a replay uses the named tunnel and its rewritten Host', async (context) => {
  const world = await InspectorWorld.open(context, {}, [{ name: 'web' }, { name: 'other', hostHeader: 'rewrite' }]);
  await world.pass('/');
  const { id } = await world.newest();
  await replayed(world, { id, tunnel_name: 'other' });
  assert.match(world.seen[1]?.headers.host ?? '', /^localhost:\d+$/);
  assert.equal((await world.list('?tunnel=other')).length, 1);
});

test('a failed replay is stored with the reason', async (context) => {
  const world = await InspectorWorld.open(context, {}, [{ name: 'web' }, { name: 'down', addr: '127.0.0.1:1' }]);
  await world.pass('/');
  const { id } = await world.newest();
  const failed = await replayed(world, { id, tunnel_name: 'down' });
  assert.equal(failed.status, null);
  assert.match(failed.problem ?? '', /refuses connections/);
});

test('rejects a request that cannot be sent unchanged, but an edit may supply another body', async (context) => {
  const world = await InspectorWorld.open(context, { maxBodyBytes: 10 });
  await world.pass('/cut', { method: 'POST', body: 'x'.repeat(11) });
  const { id } = await world.newest();
  const refused = await world.change('POST', { id, edit: { path: '/other' } });
  assert.equal(refused.status, 409);
  assert.match((refused.json as { message: string }).message, /only 10 of the 11 bytes/);
  await replayed(world, { id, edit: { body: Buffer.from('y'.repeat(50)).toString('base64') } });
  assert.equal(world.seen[1]?.body.toString(), 'y'.repeat(50));
});

test('does not replay a request whose body was incomplete', async (context) => {
  const world = await InspectorWorld.open(context, {}, [{ addr: '127.0.0.1:1' }]);
  const observer = world.inspector.observe({
    tunnel: { ref: 0, name: 'tunnel-1' },
    method: 'POST',
    target: '/',
    authority: 'app.example.com',
    headers: [],
    contentLength: 10,
  });
  observer?.onRequestData(Buffer.from('12345'));
  const { id } = await world.newest();
  assert.match(((await world.change('POST', { id })).json as { message: string }).message, /still in progress/);
  observer?.onEnd('the client went away');
  assert.match(((await world.change('POST', { id })).json as { message: string }).message, /only 5 of the 10 bytes/);
});

test('does not replay a WebSocket, nor through a tunnel of connections', async (context) => {
  const world = await InspectorWorld.open(context, {}, [{ name: 'web' }, { name: 'db', proto: 'tcp' }]);
  const tunnel = { ref: 0, name: 'web' };
  const observer = world.inspector.observe({
    tunnel,
    method: 'CONNECT',
    target: '/ws',
    authority: 'a',
    headers: [],
    contentLength: 0,
  });
  observer?.onResponseHead(101, []);
  observer?.onEnd(null);
  const { id, method } = await world.newest();
  assert.equal(method, 'GET');
  assert.equal((await world.change('POST', { id })).status, 409);
  assert.equal((await world.change('POST', { id, edit: { body: '' } })).status, 409);
  await world.pass('/');
  const plain = await world.newest();
  assert.equal((await world.change('POST', { id: plain.id, tunnel_name: 'db' })).status, 409);
});

test('limits concurrent replays, which end with the inspector', async (context) => {
  const world = await InspectorWorld.open(context);
  await world.pass('/');
  const { id } = await world.newest();
  let cut = 0;
  world.respond = (_seen, response) => {
    response.on('close', () => {
      cut += 1;
    });
    response.write('never ends');
  };
  for (let count = 0; count < 16; count += 1) assert.equal((await world.change('POST', { id })).status, 202);
  assert.equal((await world.change('POST', { id })).status, 429);
  while (world.seen.length < 17) await new Promise((resolve) => setTimeout(resolve, 10));
  await world.inspector.close();
  while (cut < 16) await new Promise((resolve) => setTimeout(resolve, 10));
});

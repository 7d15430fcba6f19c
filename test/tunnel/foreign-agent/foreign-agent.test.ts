import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { tempDir } from '../../support/temp-dir.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';

const AGENT = join(import.meta.dirname, 'agent.py');

test('an agent in another language that follows docs/reference/tunnel-protocol.md serves requests and connections', async (t) => {
  const world = await TunnelWorld.open({ after });
  const ca = join(await tempDir(t), 'ca.pem');
  await writeFile(ca, world.edge.ca.join('\n'));
  const agent = spawn('python3', [AGENT, `127.0.0.1:${world.port}`, '127.0.0.1', ca]);
  t.after(() => agent.kill('SIGKILL'));
  const errors = text(agent.stderr);
  const exited = once(agent, 'exit');
  agent.stdin.write(`${world.token}\n`);

  const received: Record<string, unknown>[] = [];
  for await (const line of createInterface({ input: agent.stdout })) {
    const message = JSON.parse(line) as Record<string, unknown>;
    received.push(message);
    if (received.length === 3 || (message['t'] !== 'bound' && message['t'] !== 'welcome')) break;
  }
  if (received.length < 3) agent.kill('SIGKILL');
  assert.deepEqual(
    received.map(({ t: type }) => type),
    ['welcome', 'bound', 'bound'],
    received.length < 3 ? await errors : JSON.stringify(received),
  );
  const urlOf = (wanted: number): URL => new URL(String(received.find(({ ref }) => ref === wanted)?.['public_url']));

  const { hostname } = urlOf(1);
  const read = await world.edge.ask(hostname, '/cart?x=1');
  assert.equal(read.text, `GET ${hostname} /cart?x=1`);
  const sent = await world.edge.ask(hostname, '/orders', { method: 'POST', body: Buffer.alloc(300_000) });
  assert.equal(sent.text, `POST ${hostname} /orders`);

  const { port } = urlOf(2);
  const socket = connect(Number(port), '127.0.0.1');
  socket.end('to python and back');
  assert.equal(await text(socket), 'to python and back');

  agent.stdin.write('bye\n');
  await exited;
  assert.deepEqual((await world.edge.api('GET', '/tunnel_sessions')).tunnel_sessions, []);
});
